//go:build unix && !linux

package dbtest

import "syscall"

func dieWithParent(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: cred, Setpgid: true}
}
