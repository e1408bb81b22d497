"""Numbers of the system calls that are forbidden to commands, or inspected."""

CALLS = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "bpf": (321, 280),
    "chmod": (90, None),
    "chown": (92, None),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "clone3": (435, 435),
    "connect": (42, 203),
    "delete_module": (176, 106),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fchmodat2": (452, 452),
    "fchown": (93, 55),
    "fchownat": (260, 54),
    "file_setattr": (469, 469),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16),
    "fsconfig": (431, 431),
    "fsetxattr": (190, 7),
    "fsmount": (432, 432),
    "fsopen": (430, 430),
    "fspick": (433, 433),
    "futimesat": (261, None),
    "init_module": (175, 105),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "io_uring_setup": (425, 425),
    "ioctl": (16, 29),
    "ioperm": (173, None),
    "iopl": (172, None),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lchown": (94, None),
    "lookup_dcookie": (212, 18),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "mount_setattr": (442, 442),
    "move_mount": (429, 429),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "open_by_handle_at": (304, 265),
    "open_tree": (428, 428),
    "open_tree_attr": (467, 467),
    "perf_event_open": (298, 241),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "removexattrat": (466, 466),
    "request_key": (249, 218),
    "seccomp": (317, 277),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "setns": (308, 268),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "setxattrat": (463, 463),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "utime": (132, None),
    "utimensat": (280, 88),
    "utimes": (235, None),
}
"""Name → number on x86-64, and on machines with the generic table (64-bit ARM, RISC-V); None: not there."""
PRIVILEGED = (
    "acct bpf chroot clock_adjtime clock_settime delete_module fanotify_init finit_module init_module ioperm iopl"
    " kexec_file_load kexec_load lookup_dcookie open_by_handle_at perf_event_open quotactl quotactl_fd reboot setns"
    " settimeofday swapoff swapon syslog userfaultfd"
    " fsconfig fsmount fsopen fspick mount mount_setattr move_mount open_tree open_tree_attr pivot_root umount2"
    " add_key keyctl request_key"
).split()
"""Calls for administrators, mounts and keyrings. A command would inherit the host's session keyring."""
ATTRIBUTES = (
    "chmod chown fchmod fchmodat fchmodat2 fchown fchownat file_setattr fremovexattr fsetxattr futimesat lchown"
    " lremovexattr lsetxattr removexattr removexattrat setxattr setxattrat utime utimensat utimes"
).split()
"""Modes, owners, times and extended attributes, which Landlock does not cover."""
QUEUES = ["mq_open", "mq_unlink"]
"""Message queues outlive the processes of a command, and no file shows them: a sandbox that is used again has none."""
SHARED = "mq_open mq_unlink msgctl msgget msgrcv msgsnd semctl semget semop semtimedop shmat shmctl shmget".split()
"""Memory, queues and semaphores that all processes of a user share where there is no namespace of their own."""
MISSING = ("clone3", "io_uring_enter", "io_uring_register", "io_uring_setup")
"""Calls that a filter cannot inspect. Programs fall back to older ones if they do not exist."""


def call_number(name: str, machine: str) -> int | None:
    """Return the number of a call on this machine; None if it does not exist."""
    return CALLS[name][0 if machine == "x86_64" else 1]
