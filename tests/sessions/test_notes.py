"""Notes: found by their words, in every script, by their owner only."""

import pytest

from toolgate.protocol.ids import uuid7
from toolgate.protocol.ports import MemoryStore
from toolgate.sessions import Database, Memory


@pytest.fixture
def memory(db: Database) -> Memory:
    return Memory(db, user=uuid7(), project="engine")


async def found(memory: Memory, query: str, limit: int = 10) -> list[str]:
    return [match["content"] for match in await memory.search(query, limit)]


async def test_it_is_the_port_of_the_memory_tools(memory: Memory) -> None:
    assert isinstance(memory, MemoryStore)


async def test_a_note_is_found_by_any_of_its_words(memory: Memory) -> None:
    await memory.append("The deployment runs on Fridays.")

    assert await found(memory, "fridays") == ["The deployment runs on Fridays."]
    assert await found(memory, "nothing friday") == ["The deployment runs on Fridays."]
    assert await found(memory, "DEPLOY") == ["The deployment runs on Fridays."]
    assert await found(memory, "ridays") == []


async def test_the_best_match_comes_first_and_no_more_than_asked_for(memory: Memory) -> None:
    await memory.append("The build uses make.")
    await memory.append("Something else entirely.")
    await memory.append("The build of the server uses make and docker.")

    assert await found(memory, "server docker build") == [
        "The build of the server uses make and docker.",
        "The build uses make.",
    ]
    assert len(await memory.search("build", 1)) == 1


@pytest.mark.parametrize(
    ("note", "query"),
    [
        ("用户喜欢深色主题。", "深色"),
        ("用户喜欢深色主题。", "主题 深色"),
        ("用户喜欢深色主题。", "色"),
        ("東京都に住んでいる", "東京"),
        ("カタカナで書く", "カナ"),
        ("서울에서 일합니다", "서울"),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "width"),
        ("ประเทศไทย", "ไทย"),
        ("Le café est fermé", "cafe ferme"),
        ("snake_case_name", "case"),
        ("toolgate使用Python编写", "使用"),
        ("Straße", "strasse"),
    ],
)
async def test_words_are_found_in_every_script(memory: Memory, note: str, query: str) -> None:
    await memory.append(note)
    await memory.append("unrelated")

    assert await found(memory, query) == [note]


@pytest.mark.parametrize("query", ["深夜", "京東", "完全", ""])
async def test_other_words_are_not_found(memory: Memory, query: str) -> None:
    await memory.append("用户喜欢深色主题。東京都")

    assert await found(memory, query) == []


@pytest.mark.parametrize(
    "query",
    [
        'note"',
        "'note'",
        "note AND",
        "note OR OR (",
        "NEAR(note, 2)",
        "words:note",
        "note*",
        "^note",
        "-note",
        "{note}",
        "note:* & !x | <-> '\\",
        "note; DROP TABLE memories",
        "note\0",
        "note\ud800",
    ],
)
async def test_hostile_queries_are_plain_words(memory: Memory, query: str) -> None:
    await memory.append("a note")

    assert await found(memory, query) == ["a note"]


@pytest.mark.parametrize("query", ['"', "*", "()", "' OR 1=1 --", "AND", "\0", "|&!", " \n"])
async def test_queries_without_words_of_a_note_find_nothing(memory: Memory, query: str) -> None:
    await memory.append("something")

    assert await found(memory, query) == []


async def test_a_note_belongs_to_its_user_and_its_project(db: Database) -> None:
    user = uuid7()
    await Memory(db, user=user, project="a").append("secret plan")

    assert await Memory(db, user=user, project="b").search("secret", 5) == []
    assert await Memory(db, user="other", project="a").search("secret", 5) == []
    assert len(await Memory(db, user=user, project="a").search("secret", 5)) == 1


async def test_a_long_note_and_a_long_query_work(memory: Memory) -> None:
    note = " ".join(f"word{number}" for number in range(3_000))
    await memory.append(note)

    assert await found(memory, "word2999") == [note]
    assert await found(memory, note) == [note]


async def test_a_note_comes_with_its_id_and_its_time(memory: Memory) -> None:
    await memory.append("when")
    (match,) = await memory.search("when", 1)

    assert sorted(match) == ["content", "created_at", "id"]
    assert match["created_at"].endswith("+00:00")


async def test_the_latest_notes_come_newest_first(memory: Memory) -> None:
    for number in range(5):
        await memory.append(f"note {number}")

    assert [note["content"] for note in await memory.recent(3)] == ["note 4", "note 3", "note 2"]
    assert sorted((await memory.recent(1))[0]) == ["content", "created_at", "id"]
    assert await memory.recent(0) == []


async def test_of_a_long_note_the_latest_have_the_beginning(memory: Memory) -> None:
    await memory.append("深" * 300_000)

    assert [note["content"] for note in await memory.recent(10)] == ["深" * 1_000]


async def test_the_latest_notes_are_their_owners_only(db: Database) -> None:
    user = uuid7()
    await Memory(db, user=user, project="a").append("secret plan")

    assert await Memory(db, user=user, project="b").recent(5) == []
    assert await Memory(db, user="other", project="a").recent(5) == []
    assert len(await Memory(db, user=user, project="a").recent(5)) == 1


async def test_nul_in_a_note_is_kept(db: Database) -> None:
    memory = Memory(db, user="nul", project="nul")
    text = "before\0after \U0010fffe0 " + "é" * 2_000
    await memory.append(text)
    assert [note["content"] for note in await memory.search("after", 5)] == [text]
    assert [note["content"] for note in await memory.recent(5)] == [text[:1_000]]
