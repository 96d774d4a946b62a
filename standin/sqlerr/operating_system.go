// SPDX-License-Identifier: Apache-2.0

package sqlerr

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// systemErrors are the operating system's errors as SQL Server's messages have them, on Linux too: by Windows' number
// and text.
var systemErrors = map[syscall.Errno]struct {
	number int
	text   string
}{
	syscall.ENOENT:  {2, "The system cannot find the file specified."},
	syscall.ENOTDIR: {3, "The system cannot find the path specified."},
	syscall.EACCES:  {5, "Access is denied."},
	syscall.EPERM:   {5, "Access is denied."},
	syscall.EISDIR:  {5, "Access is denied."},
	syscall.EROFS:   {19, "The media is write protected."},
	syscall.EBUSY:   {32, "The process cannot access the file because it is being used by another process."},
	syscall.EEXIST:  {80, "The file exists."},
	syscall.ENOSPC:  {112, "There is not enough space on the disk."},
	syscall.EIO:     {1117, "The request could not be performed because of an I/O device error."},
}

// OperatingSystem is an error of the operating system as messages have it.
func OperatingSystem(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if known, ok := systemErrors[errno]; ok {
			return fmt.Sprintf("%d(%s)", known.number, known.text)
		}
	}
	var pe *os.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}
