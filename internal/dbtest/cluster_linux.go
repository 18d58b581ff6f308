package dbtest

import "syscall"

// dieWithParent ends the server when the test process is killed: nobody else
// would.
func dieWithParent(cred *syscall.Credential) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: cred, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
}
