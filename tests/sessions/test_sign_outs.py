"""Ended sign-ins are known until their last key has expired."""

import time

from toolgate.sessions import Database
from toolgate.sessions.sign_outs import add, current


async def test_what_could_still_be_shown_is_known_and_what_has_expired_is_not(db: Database) -> None:
    later = time.time() + 3600
    await add(db, {"one": later, "gone": time.time() - 3600})
    await add(db, {"two": later})

    found = await current(db)

    assert {key for key in found if key in {"one", "two", "gone"}} == {"one", "two"}


async def test_signing_out_twice_changes_nothing(db: Database) -> None:
    later = time.time() + 3600
    await add(db, {"twice": later})
    await add(db, {"twice": later + 1})

    assert (await current(db))["twice"] == later
