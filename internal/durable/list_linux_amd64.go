package durable

import "syscall"

const sysFstatat = syscall.SYS_NEWFSTATAT
