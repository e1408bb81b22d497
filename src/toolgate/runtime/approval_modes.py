"""What the person's approval mode decides about a call, before anybody is asked."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from toolgate.protocol.modes import ApprovalMode
from toolgate.protocol.record import Decision

if TYPE_CHECKING:
    from toolgate.protocol.plan import Plan
    from toolgate.runtime.invocation import Invocation

RUN_BY_OTHERS = frozenset(
    """
    .git .toolgate .hg .svn .jj .bzr .gitconfig .hgrc .husky .huskyrc .lefthook .lefthook-local lefthook.yml
    lefthook.yaml lefthook.toml lefthook.json lefthook-local.yml .lefthook.yml .lefthook-local.yml
    .pre-commit-config.yaml .overcommit.yml
    .vscode .vscode-server .idea .devcontainer .devcontainer.json .zed .fleet .nova .vs .theia .gitpod.yml .replit
    .exrc .vimrc .gvimrc _vimrc .lvimrc .local.vimrc .vim .ideavimrc .nvimrc .nvim.lua .emacs .emacs.d .spacemacs
    .doom.d .dir-locals.el .dir-locals-2.el .projectile
    .envrc .direnvrc .autoenv .autoenv.zsh .mise .mise.toml .mise.local.toml mise.toml mise.local.toml .rtx.toml
    .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .profile .zshrc .zshenv .zprofile .zlogin .zlogout
    .kshrc .mkshrc .shrc .cshrc .tcshrc .login .logout .inputrc .xonshrc .pam_environment profile.ps1
    microsoft.powershell_profile.ps1 .xprofile .xinitrc .xsession .xsessionrc .tmux.conf .screenrc .ssh
    .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs .pnp.cjs bunfig.toml .bunfig.toml .cargo .bundle .bazelrc .mvn .gradle
    .sbtopts .jvmopts
    sitecustomize.py usercustomize.py .pdbrc .pdbrc.py .ipython .jupyter .rprofile .renviron .irbrc .pryrc .ghci
    .octaverc .gdbinit .lldbinit .sqliterc .psqlrc .my.cnf .mailcap .procmailrc .forward .lessfilter .lesskey
    .wgetrc .curlrc
    .mcp.json .claude .claude.json .cursor .codex .gemini .opencode opencode.json opencode.jsonc .kimi .kiro
    .windsurf .continue .roo .amazonq .aider.conf.yml .cline .crush .crush.json crush.json .goose .qwen .augment
    .factory .junie .trae .openhands
    """.split()
)
"""Names of files and directories whose content other programs run on their own, merely because they are there.

Writing there always asks. Ordinary code, which somebody runs (`Makefile`, `conftest.py`), is not among them.
"""
RUN_FROM = (
    *(f".config/{name}" for name in "autostart direnv environment.d fish git hypr i3 kitty mise mise.toml".split()),
    *(f".config/{name}" for name in "nushell nvim plasma-workspace powershell sway systemd tmux zsh".split()),
    *(".local/bin", ".local/share/systemd", "library/launchagents", ".github/hooks"),
)
"""The same, with the directories that they are in."""
RUN_ENDINGS = (".code-workspace", ".pth", ".desktop")
"""Endings of the names of such files."""
_PLAN = f"approval mode: {ApprovalMode.plan.value}"
_ACCEPT_EDITS = f"approval mode: {ApprovalMode.accept_edits.value}"


def plan_mode_refuses(invocation: Invocation) -> Decision | None:
    """In plan mode, the refusal of a call that may change something; None if it cannot."""
    reason = _changes(invocation.plan, read_only=invocation.declaration.read_only)
    return None if not reason else Decision(decision="deny", gate="permission", rule=_PLAN, reason=reason)


def _changes(plan: Plan | None, *, read_only: bool) -> str:
    """Why a call may change something; empty if it cannot."""
    if plan is None or read_only:
        return ""  # the gate has let through only tools that change nothing, or whose calls are judged one by one
    if plan.access != "read":
        return "the session is in plan mode, in which only access 'read' is allowed"
    if plan.unconfined:
        return "the session is in plan mode, and the sandbox does not keep this command from changing something"
    if plan.asks:
        return f"the session is in plan mode, and this call is potentially dangerous: {plan.reason}"
    return ""


def accept_edits_allows(invocation: Invocation) -> Decision | None:
    """In the mode that accepts edits, the permission for a write that undo can take back; otherwise None."""
    plan = invocation.plan
    if plan is None or not plan.reversible:
        return None
    if plan.access != "write" or plan.unconfined or plan.once or plan.commands or not plan.resources:
        return None
    if any(map(is_run_by_others, plan.resources)):
        return None
    if (workspace := invocation.context.workspace) is not None:
        from toolgate.sandbox.git.edited_files import git_may_run

        if git_may_run(str(workspace.root), os.path.expanduser("~"), plan.resources):
            return None
    reason = "edits are accepted in this session, and undo can take this one back"
    return Decision(decision="allow", gate="permission", rule=_ACCEPT_EDITS, reason=reason)


def is_run_by_others(path: str) -> bool:
    """Whether other programs run a file on their own."""
    lower = path.lower()
    return (
        not RUN_BY_OTHERS.isdisjoint(lower.split("/"))
        or lower.endswith(RUN_ENDINGS)
        or any(f"/{place}/" in f"/{lower}/" for place in RUN_FROM)
    )
