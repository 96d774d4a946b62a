// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"geosql.dev/standin/config"
	"geosql.dev/standin/engine"
	"geosql.dev/standin/tds"
)

// stopWithin is how long an orderly end may take: Kubernetes and people who press Ctrl-C get impatient. Whatever is
// not done by then is recovered from the log at the next start.
const stopWithin = 4500 * time.Millisecond

// run is the life of an instance, from its lock to its last checkpoint.
func run(settings *config.Settings) error {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT)
	if err := config.CheckMemory(config.AvailableMemory()); err != nil {
		return err
	}
	lock, err := config.LockDirectory(settings.DataDir)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Release() }()
	if err := checkFirstStart(settings); err != nil {
		return err
	}
	log, err := config.OpenErrorLog(settings.ErrorLog, settings.ErrorLogs, os.Stdout)
	if err != nil {
		return err
	}
	defer log.Close()
	announce(log, settings)
	if limit := settings.MemoryLimit(); limit > 0 {
		debug.SetMemoryLimit(limit)
	}
	collectLess()
	tlsConfig, err := settings.TLS.Config(func() (tls.Certificate, error) { return tds.SelfSigned(settings.ServerName) })
	if err != nil {
		return err
	}
	i := &instance{settings: settings, log: log, shutdown: make(chan bool, 1)}
	if err := i.start(tlsConfig); err != nil {
		log.Printf("The server did not start: %v", err)
		return err
	}
	return i.wait(signals)
}

// checkFirstStart demands a good password when there are no system databases yet.
func checkFirstStart(settings *config.Settings) error {
	files, err := filepath.Glob(filepath.Join(settings.DataDir, "master.*"))
	if err != nil {
		return fmt.Errorf("look for master in %s: %w", settings.DataDir, err)
	}
	if len(files) > 0 {
		return nil
	}
	return config.CheckPassword(settings.Password)
}

func announce(log *config.ErrorLog, s *config.Settings) {
	log.Printf("%s", version)
	log.Printf("%s. Process %d, user %d. Started with %q.", s.Edition, os.Getpid(), os.Getuid(), s.Arguments.Options)
	log.Printf(
		"Server name is '%s'. Data in %s, logs in %s, backups in %s.",
		s.ServerName,
		s.DataDir,
		s.LogDir,
		s.BackupDir,
	)
	for _, w := range s.Warnings {
		log.Printf("Warning: %s", w)
	}
	if len(s.Answers) > 0 {
		log.Printf("Answered the other way (docs/answers.md): %s.", s.Answers)
	}
	for _, flag := range s.TraceFlags {
		log.Printf("Trace flag %d is set.", flag)
	}
}

// instance is the running engine with its protocol server.
type instance struct {
	settings *config.Settings
	log      *config.ErrorLog
	engine   *engine.Instance
	server   *tds.Server
	served   chan error
	// shutdown receives from the SHUTDOWN statement: true for WITH NOWAIT.
	shutdown chan bool
}

// address is what to listen on. Without an address all of IPv4 and IPv6 are meant.
func (i *instance) address() string {
	return net.JoinHostPort(i.settings.Address, strconv.Itoa(i.settings.Port))
}

func (i *instance) start(tlsConfig *tls.Config) error {
	var listener net.Listener
	var err error
	port := i.settings.Port
	if port == 0 {
		// Views tell the port, so a free one must be found before the engine starts.
		if listener, err = net.Listen("tcp", i.address()); err != nil {
			return fmt.Errorf("listen on %s: %w", i.address(), err)
		}
		port = listener.Addr().(*net.TCPAddr).Port
	}
	i.engine, err = engine.New(context.Background(), i.engineConfig(port))
	if err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	if listener == nil {
		if listener, err = net.Listen("tcp", i.address()); err != nil {
			return errors.Join(fmt.Errorf("listen on %s: %w", i.address(), err), i.engine.Close())
		}
	}
	var backend tds.Backend = i.engine
	if i.settings.Arguments.SingleUser {
		backend = &singleUser{Backend: backend, application: i.settings.Arguments.SingleUserApp}
	}
	encryption := tds.EncryptionOptional
	if i.settings.TLS.ForceEncryption {
		encryption = tds.EncryptionRequired
	}
	i.server, err = tds.NewServer(tds.Config{
		Backend: backend, TLS: tlsConfig, Encryption: encryption, Strict: i.settings.TLS.ForceStrict,
		Log: i.log.From("Logon").Printf,
	})
	if err != nil {
		return errors.Join(err, listener.Close(), i.engine.Close())
	}
	i.served = make(chan error, 1)
	go func() { i.served <- i.server.Serve(listener) }()
	i.log.Printf("Server is listening on [ %s <tcp> %d].", listener.Addr().(*net.TCPAddr).IP, port)
	i.log.From("spid1s").Printf("SQL Server is now ready for client connections (geosql stand-in). No action is needed.")
	return nil
}

func (i *instance) engineConfig(port int) engine.Config {
	s := i.settings
	return engine.Config{
		ServerName: s.ServerName, DataDir: s.DataDir, LogDir: s.LogDir, BackupDir: s.BackupDir, Root: s.Root,
		ErrorLog:   s.ErrorLog,
		SAPassword: s.Password, Edition: s.Edition, Version: s.Version, Port: port,
		HADREnabled: s.HADREnabled, AgentEnabled: s.AgentEnabled, MemoryLimitMB: s.MemoryLimit() >> 20,
		StartupOptions: s.Arguments.Options, Minimal: s.Arguments.Minimal, TraceFlags: s.TraceFlags,
		Answers:     s.Answers,
		Extensions:  extensions(s),
		Log:         slog.New(i.log.From("spid1s")),
		KillSession: func(spid int) bool { return i.server != nil && i.server.Kill(spid) },
		CycleErrorLog: func() error {
			if err := i.log.Cycle(); err != nil {
				return err
			}
			i.log.Printf("%s", version)
			return nil
		},
		Shutdown: func(noWait bool) {
			select {
			case i.shutdown <- noWait:
			default:
			}
		},
	}
}

// wait ends the instance on a signal, on SHUTDOWN or when its listener fails.
func (i *instance) wait(signals <-chan os.Signal) error {
	select {
	case s := <-signals:
		i.log.Printf("The server is stopping because of signal %v.", s)
	case noWait := <-i.shutdown:
		if noWait {
			i.log.Printf("The server ends at once (SHUTDOWN WITH NOWAIT).")
			return nil
		}
		i.log.Printf("The server is stopping because of SHUTDOWN.")
	case err := <-i.served:
		i.log.Printf("The server is stopping: %v", err)
		return errors.Join(err, i.engine.Close())
	}
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopWithin)
		defer cancel()
		ended <- errors.Join(i.server.Shutdown(ctx), i.engine.Close())
	}()
	deadline := time.NewTimer(stopWithin)
	defer deadline.Stop()
	select {
	case err := <-ended:
		if err != nil {
			i.log.Printf("The server did not stop cleanly; the next start recovers from the log: %v", err)
			return nil
		}
		i.log.Printf("The server has stopped.")
	case <-deadline.C:
		i.log.Printf(
			"The server ends without its last checkpoint after %v; the next start recovers from the log.",
			stopWithin,
		)
	case s := <-signals:
		i.log.Printf("The server ends at once because of a second signal, %v.", s)
	}
	return nil
}
