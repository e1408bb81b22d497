"""`RequestRefused`: a request that cannot be done, with what to do instead."""


class RequestRefused(Exception):
    """The request is refused; the message says what to do instead."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
