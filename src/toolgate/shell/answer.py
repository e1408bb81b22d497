"""Builds the answer of a command, with a hint if one helps."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from toolgate.protocol.plan import Access
from toolgate.shell.command_run import CommandRun
from toolgate.shell.hints import FinishedCommand, hint
from toolgate.shell.jobs import Jobs
from toolgate.shell.result import CommandResult
from toolgate.shell.starter import Starter
from toolgate.shell.state_history import StateHistory

_KILLED = 137  # 128 + SIGKILL


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandAnswer:
    """A command that has ended or continues as a job, and where it ran."""

    run: CommandRun
    access: Access
    root: str
    starter: Starter
    history: StateHistory
    jobs: Jobs
    timed_out: bool = False
    job: str | None = None
    """The id of the background job that it has become."""
    notes: Sequence[str] = ()
    """Notes about the repository: what was set aside, and which hooks did not run."""

    def result(self, cwd: str) -> CommandResult:
        """Build the result that the caller gets."""
        stdout, stderr = (self._own_name(stream.text()) for stream in (self.run.stdout, self.run.stderr))
        stderr += "".join(self.notes)
        out, err = self.run.stdout.info, self.run.stderr.info
        exit_code = None if self.timed_out or self.job else self.run.exit_code
        return CommandResult(
            stdout=stdout,
            stderr=stderr,
            exit_code=exit_code,
            timed_out=self.timed_out,
            truncated=out.truncated or err.truncated,
            stdout_info=out,
            stderr_info=err,
            sandbox=self.starter.report(self.access),
            hint="" if self.job else self.hint(exit_code, stdout, stderr),
            job_id=self.job,
            cwd=cwd,
        )

    def _own_name(self, text: str) -> str:
        """Show the repository as `.git`, not as the directory that git was given."""
        directory = self.run.process.view.git_directory
        return text.replace(directory, ".git") if directory else text

    def hint(self, exit_code: int | None, stdout: str, stderr: str) -> str:
        """Return a next step; empty if there is nothing to say."""
        if exit_code == 0 and not stderr and "read" not in self.run.command:
            return ""  # only a 'read' that got no input says nothing itself
        layer, loaded = self.starter.layer, self.run.process.loaded
        began = self.history.for_access(self.access) if loaded is None else loaded
        if locked := self.starter.locked.hint(stderr + stdout, os.fsdecode(began.directory)):
            return locked
        return hint(
            FinishedCommand(
                command=self.run.command,
                access=self.access,
                layer=layer.name,
                mounts=layer.mounts,
                root=self.root,
                home=self.starter.environment(self.access)["HOME"],
                directory=os.fsdecode(began.directory),
                exit_code=exit_code,
                stdout=stdout,
                stderr=stderr,
                out_of_memory=exit_code == _KILLED and self.starter.killed_for_memory(),
                jobs=any(job.running for job in self.jobs.list()),
                reaches_jobs=self.starter.shares_network(self.access) and self.jobs.is_running(self.access),
            )
        )
