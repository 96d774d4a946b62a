// SPDX-License-Identifier: Apache-2.0

package mssql

import (
	"context"
	"database/sql/driver"
	"sync"

	tds "github.com/microsoft/go-mssqldb"
	"github.com/microsoft/go-mssqldb/msdsn"
)

// numberLoginFailed is the error of a password that is not the login's; it does not tell that from a login that is not
// there.
const numberLoginFailed = 18456

// Remembered are the passwords with which logins were last let in. A password is changed at two places, where it is
// read and in the engine, and the change may be cut short between them: where the one that is given is refused, the
// remembered one is tried. It is safe for concurrent use, and forgets with the process.
type Remembered struct {
	mu   sync.Mutex
	last map[string]string
	once func()
}

// NewRemembered remembers nothing yet. once is called when the engine has let a login in, each time that its password
// is another one; it may be nil.
func NewRemembered(once func()) *Remembered {
	return &Remembered{last: map[string]string{}, once: once}
}

// Knows tells whether the engine has ever let the login in.
func (r *Remembered) Knows(login string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.last[login] != ""
}

func (r *Remembered) other(config msdsn.Config) (msdsn.Config, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.last[config.User]
	if last == "" || last == config.Password {
		return config, false
	}
	config.Password = last
	return config, true
}

func (r *Remembered) took(config msdsn.Config) {
	r.mu.Lock()
	changed := r.last[config.User] != config.Password
	r.last[config.User] = config.Password
	r.mu.Unlock()
	if changed && r.once != nil {
		r.once()
	}
}

// rememberingConnector tries the remembered password where the given one is refused.
type rememberingConnector struct {
	remembered *Remembered
	config     msdsn.Config
	connect    func(msdsn.Config) boundedConnector
}

// Driver is the driver.
func (c rememberingConnector) Driver() driver.Driver { return &tds.Driver{} }

// Connect logs in. The error is that of the given password.
func (c rememberingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.connect(c.config).Connect(ctx)
	if err == nil {
		c.remembered.took(c.config)
		return conn, nil
	}
	if other, known := c.remembered.other(c.config); known && HasNumber(err, numberLoginFailed) {
		if conn, refused := c.connect(other).Connect(ctx); refused == nil {
			return conn, nil
		}
	}
	return nil, err
}
