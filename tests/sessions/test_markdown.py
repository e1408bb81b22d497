"""A session as Markdown."""

from tests.sessions.test_rewind import said
from toolgate.sessions import SessionManager
from toolgate.sessions.markdown import as_markdown
from toolgate.sessions.record import read_record


async def test_markdown_has_the_conversation_and_not_what_the_person_went_back_from(store: SessionManager) -> None:
    session = await store.create(title="Prices")
    await said(store, session.id, "one")
    await store.rewind(session.id, await said(store, session.id, "two", call=True))
    text = as_markdown(await read_record(store, await store.get(session.id)))
    assert "## You\n\none\n\n## Agent\n\nre: one" in text
    assert "two" not in text
