"""`/model`: lists the models, chooses one for the session, and sets one up."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolgate.cli.errors import UsageError
from toolgate.cli.visible import visible
from toolgate.language.translate import translate

if TYPE_CHECKING:
    from toolgate.cli.chat.conversation import Conversation
    from toolgate.cli.chat.slash_commands import CommandHost
    from toolgate.models.setup import Choice

_LISTED = 40
"""Maximum number of models that are listed."""


class ModelCommand:
    """One `/model` command."""

    def __init__(self, conversation: Conversation, host: CommandHost) -> None:
        self._conversation = conversation
        self._host = host
        self._source = conversation.stack.models

    async def run(self, rest: str) -> None:
        """List, choose or set up."""
        if rest == "setup" or (not rest and not self._source.is_configured):
            await self._set_up()
        elif not rest:
            await self._list()
        else:
            await self._choose(rest)

    async def _list(self) -> None:
        names, problem = await self._names()
        current = self._conversation.model_name
        for number, name in enumerate(names[:_LISTED], 1):
            here = translate("  ← this session") if name.partition(":")[2] == current or name == current else ""
            self._host.say(f"{number:>3}  {visible(name, keep='')}{here}")
        if len(names) > _LISTED:
            self._host.say(translate("     … and {count} more", count=len(names) - _LISTED), "dim")
        if problem:
            self._host.say(visible(problem, keep=""), "yellow")
        self._host.say(
            translate("/model N or NAME changes the model of this session; /model setup sets up another one."), "dim"
        )

    async def _choose(self, rest: str) -> None:
        if rest.isdecimal():
            names, _ = await self._names()
            if not 1 <= int(rest) <= len(names):
                raise UsageError(translate("there is no model {rest}; /model lists them", rest=rest))
            rest = names[int(rest) - 1]
        await self._conversation.choose_model("" if rest == "default" else rest)
        name = visible(self._conversation.model_name, keep="")
        self._host.say(translate("The next message of this session goes to {name}.", name=name), "dim")

    async def _names(self) -> tuple[list[str], str]:
        found, problem = await self._source.catalog()
        return [f"{provider}:{info.name}" for provider, info in found], problem

    async def _set_up(self) -> None:
        """Ask for a provider, an address, a key and a model; what works is stored and used at once."""
        from toolgate.models.setup import set_up, try_out

        choice = await self._provider()
        self._host.say(translate("Trying it …"), "dim")
        trial = await try_out(choice, self._source)
        names = [info.name for info in trial.models]
        for number, name in enumerate(names[:_LISTED], 1):
            self._host.say(f"{number:>3}  {visible(name, keep='')}")
        model = _picked(await self._host.ask(translate("Which model? (number or name)")), names)
        await set_up(choice, model, self._source)
        await self._conversation.choose_model("")
        stored = self._conversation.stack.settings.config_file or translate("the config file")
        self._host.say(
            translate(
                "{model} is set up, stored in {stored}, and answers from now on.",
                model=visible(model, keep=""),
                stored=stored,
            ),
            "green",
        )

    async def _provider(self) -> Choice:
        from toolgate.models.discovery import find_servers
        from toolgate.models.setup import Choice, offers

        servers = await find_servers()
        offered = offers()
        own = next(offer for offer in offered if not offer["needs_key"])
        rows = [(offer["label"], Choice(provider=offer["id"])) for offer in offered if offer["needs_key"]]
        for server in servers:
            label = translate("{label} on this machine ({base_url})", label=server.label, base_url=server.base_url)
            rows.append((label, Choice(provider=own["id"], base_url=server.base_url)))
        rows.append((own["label"], Choice(provider=own["id"])))
        for number, (label, _) in enumerate(rows, 1):
            self._host.say(f"{number:>3}  {visible(label, keep='')}")
        answer = await self._host.ask(translate("Whose model? (number)"))
        if not answer.isdecimal() or not 1 <= int(answer) <= len(rows):
            raise UsageError(translate("that is none of the numbers; nothing was changed"))
        chosen = rows[int(answer) - 1][1]
        return await self._completed(chosen, is_own_server=chosen.provider == own["id"])

    async def _completed(self, choice: Choice, *, is_own_server: bool) -> Choice:
        """The choice with its address and key. A server that was found on this machine has both."""
        from toolgate.models.setup import Choice

        if choice.base_url is not None:
            return choice
        address, optional = None, ""
        if is_own_server:
            address = await self._host.ask(translate("Its address? (such as http://127.0.0.1:8080/v1)"))
            optional = translate(", or nothing if it needs none")
        question = translate("The key{optional}? (it is not shown)", optional=optional)
        key = await self._host.ask(question, hidden=True)
        return Choice(provider=choice.provider, base_url=address, api_key=key or None)


def _picked(answer: str, names: list[str]) -> str:
    if answer.isdecimal() and 1 <= int(answer) <= len(names):
        return names[int(answer) - 1]
    if answer in names:
        return answer
    raise UsageError(translate("there is no such model; nothing was changed"))
