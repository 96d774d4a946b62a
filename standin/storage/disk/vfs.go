// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"cmp"
	"errors"
	"os"
	"runtime"
	"strings"
	"sync"
	"unsafe"

	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// Name is the virtual file system's name, for a file's URI (file:...?vfs=checked).
const Name = "checked"

// It is SQLite's own for this operating system with some methods in front: a file's methods are exchanged once it is
// open. (https://www.sqlite.org/vfs.html, section 2.1, "VFS shims")

// openFile is what is known of an open data file or write-ahead log.
type openFile struct {
	path    string
	wal     bool
	sealed  bool
	watcher Watcher
	under   *sqlite3.Tsqlite3_io_methods
	frames
}

var (
	openFiles sync.Map // of *openFile, by the address of SQLite's file object
	exchanged sync.Map // address of changed methods, by that of the original ones
	underVFS  sqlite3.Tsqlite3_vfs
	beforeWAL sync.Map // of func() error, by path of the data file
	keptRoom  sync.Map // of struct{}, by path of the data file
)

// at makes an address of SQLite's memory, which no garbage collector moves, a pointer.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }

func bytesAt(address uintptr, n int32) []byte { return unsafe.Slice(at[byte](address), n) }

// function makes the address of a function of SQLite callable, and address the other way round, as the translator of
// SQLite's source does it (modernc.org/sqlite/lib, __ccgo_fp): f must be declared at package level.
func function[F any](address uintptr) F { return *(*F)(unsafe.Pointer(&struct{ uintptr }{address})) }

func address[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&struct{ f F }{f})) }

type (
	openFunc = func(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32
	readFunc = func(tls *libc.TLS, file, buf uintptr, n int32, offset sqlite3.Tsqlite3_int64) int32
	sizeFunc = func(tls *libc.TLS, file uintptr, size sqlite3.Tsqlite3_int64) int32
	flagFunc = func(tls *libc.TLS, file uintptr, flags int32) int32
	fileFunc = func(tls *libc.TLS, file uintptr) int32
	// pointerFunc is that of a method which answers to an address.
	pointerFunc = func(tls *libc.TLS, file, out uintptr) int32
	nameFunc    = func(tls *libc.TLS, vfs, name uintptr, syncFolder int32) int32
)

// Register makes the virtual file system known to SQLite; connections are opened with its Name afterwards.
var Register = sync.OnceValue(func() error {
	tls := libc.NewTLS()
	defer tls.Close()
	found := sqlite3.Xsqlite3_vfs_find(tls, 0)
	if found == 0 {
		return errors.New("SQLite has no virtual file system")
	}
	underVFS = *at[sqlite3.Tsqlite3_vfs](found)
	name, err := libc.CString(Name)
	mem := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(underVFS)))
	if err != nil || mem == 0 {
		return errors.New("there is no memory for a virtual file system")
	}
	vfs := at[sqlite3.Tsqlite3_vfs](mem)
	*vfs = underVFS
	vfs.FpNext, vfs.FzName = 0, name
	//nolint:unconvert // the conversions check the signatures that SQLite calls
	vfs.FxOpen, vfs.FxDelete = address(openFunc(open)), address(nameFunc(remove))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, mem, 0); rc != sqlite3.SQLITE_OK {
		return errors.New("SQLite does not take a virtual file system")
	}
	return nil
})

// BeforeSync has f called before a data file's write-ahead log is synced, which comes before any of its pages get into
// the data file: f makes durable whatever must be so first. An error of it is one of the sync.
func BeforeSync(path string, f func() error) (stop func()) {
	beforeWAL.Store(path, f)
	return func() { beforeWAL.Delete(path) }
}

// KeepRoom says whether a data file's write-ahead log keeps its room on the disk when a checkpoint empties it: to write
// over what a file has is cheaper than to make it grow again. SQLite takes the log for empty. What is left in the file
// has all been copied, durably, and lasts until SQLite begins the log again with another header, which it syncs before
// it writes more: a crash in between makes the log what it was before it was emptied, and nothing that is read is
// different.
//
// SQLite's own way of keeping the file (wal_checkpoint(RESTART)) has the next writer begin it again, beside whom
// another checkpoint may lose pages before SQLite 3.51.3 (https://www.sqlite.org/wal.html, section 11, "The WAL-Reset
// Bug").
func KeepRoom(path string, keep bool) {
	if keep {
		keptRoom.Store(path, struct{}{})
	} else {
		keptRoom.Delete(path)
	}
}

func open(tls *libc.TLS, vfs, name, file uintptr, flags int32, out uintptr) int32 {
	rc := function[openFunc](underVFS.FxOpen)(tls, vfs, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&(sqlite3.SQLITE_OPEN_MAIN_DB|sqlite3.SQLITE_OPEN_WAL) == 0 || name == 0 {
		return rc
	}
	o := at[sqlite3.Tsqlite3_file](file)
	f := &openFile{
		path:  libc.GoString(name),
		wal:   flags&sqlite3.SQLITE_OPEN_WAL != 0,
		under: at[sqlite3.Tsqlite3_io_methods](o.FpMethods),
	}
	f.watcher = watcherOf(f.path)
	if f.wal && f.watcher != nil && flags&sqlite3.SQLITE_OPEN_CREATE != 0 {
		f.watcher.Created(f.path)
	}
	f.sealed = !f.wal && f.readSealed(tls, file)
	openFiles.Store(file, f)
	o.FpMethods = methods(tls, o.FpMethods)
	return rc
}

// readSealed reads from the file's header whether its pages have checksums. It reads through SQLite's file: to close
// another one would end the locks that this process has on it (https://www.sqlite.org/howtocorrupt.html, section 2.2).
func (f *openFile) readSealed(tls *libc.TLS, file uintptr) bool {
	const head = 100
	buf := libc.Xmalloc(tls, head)
	if buf == 0 {
		return false
	}
	defer libc.Xfree(tls, buf)
	return function[readFunc](f.under.FxRead)(tls, file, buf, head, 0) == sqlite3.SQLITE_OK && sealed(bytesAt(buf, head))
}

// methods are the original ones with those of this package in their places. Pages are not mapped into memory: they
// would not be checked then.
func methods(tls *libc.TLS, original uintptr) uintptr {
	if known, ok := exchanged.Load(original); ok {
		return known.(uintptr)
	}
	mem := libc.Xmalloc(tls, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_io_methods{})))
	m := at[sqlite3.Tsqlite3_io_methods](mem)
	*m = *at[sqlite3.Tsqlite3_io_methods](original)
	m.FiVersion = min(m.FiVersion, 2)
	//nolint:unconvert // the conversions check the signatures that SQLite calls
	m.FxClose, m.FxRead, m.FxWrite = address(fileFunc(closeFile)), address(readFunc(read)), address(readFunc(write))
	m.FxTruncate, m.FxSync = address(sizeFunc(truncate)), address(flagFunc(syncFile)) //nolint:unconvert // as above
	m.FxFileSize = address(pointerFunc(fileSize))                                     //nolint:unconvert // as above
	kept, _ := exchanged.LoadOrStore(original, mem)
	return kept.(uintptr)
}

func opened(file uintptr) *openFile {
	f, _ := openFiles.Load(file)
	return f.(*openFile)
}

func closeFile(tls *libc.TLS, file uintptr) int32 {
	f := opened(file)
	rc := f.flush(tls, file)
	openFiles.Delete(file)
	return cmp.Or(function[fileFunc](f.under.FxClose)(tls, file), rc)
}

func fileSize(tls *libc.TLS, file, out uintptr) int32 {
	f := opened(file)
	if rc := f.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return function[pointerFunc](f.under.FxFileSize)(tls, file, out)
}

func read(tls *libc.TLS, file, buf uintptr, n int32, offset sqlite3.Tsqlite3_int64) int32 {
	f := opened(file)
	if rc := f.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	f.gathers = false
	rc := function[readFunc](f.under.FxRead)(tls, file, buf, n, offset)
	if rc != sqlite3.SQLITE_OK || !f.sealed || n != PageSize || offset%PageSize != 0 {
		return rc
	}
	if d := check(bytesAt(buf, n), uint32(offset/PageSize)+1); d != nil {
		d.Path = f.path
		noteDamage(d)
		return sqlite3.SQLITE_IOERR_DATA
	}
	return rc
}

// write puts the checksum on a page of the data file. Pages get there from the write-ahead log only, whose frames have
// checksums of SQLite's own.
func write(tls *libc.TLS, file, buf uintptr, n int32, offset sqlite3.Tsqlite3_int64) int32 {
	f := opened(file)
	data := bytesAt(buf, n)
	if !f.wal && offset == 0 && n == PageSize {
		f.sealed = sealed(data)
	}
	if f.sealed && n == PageSize && offset%PageSize == 0 {
		seal(data, uint32(offset/PageSize)+1)
	}
	if f.wal {
		return f.frame(tls, file, data, offset)
	}
	return f.through(tls, file, data, offset)
}

// through writes to the file itself.
func (f *openFile) through(tls *libc.TLS, file uintptr, data []byte, offset sqlite3.Tsqlite3_int64) int32 {
	rc := function[readFunc](
		f.under.FxWrite,
	)(
		tls,
		file,
		uintptr(unsafe.Pointer(unsafe.SliceData(data))),
		int32(len(data)),
		offset,
	)
	runtime.KeepAlive(data)
	if f.watcher != nil && rc == sqlite3.SQLITE_OK {
		f.watcher.Wrote(f.path, offset, data)
	}
	return rc
}

func truncate(tls *libc.TLS, file uintptr, size sqlite3.Tsqlite3_int64) int32 {
	f := opened(file)
	if rc := f.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	if f.wal && size == 0 {
		if _, keep := keptRoom.Load(strings.TrimSuffix(f.path, "-wal")); keep {
			return sqlite3.SQLITE_OK
		}
	}
	rc := function[sizeFunc](f.under.FxTruncate)(tls, file, size)
	if f.watcher != nil && rc == sqlite3.SQLITE_OK {
		f.watcher.Truncated(f.path, size)
	}
	return rc
}

var errSync = errors.New("SQLite could not sync a file")

func syncFile(tls *libc.TLS, file uintptr, flags int32) int32 {
	f := opened(file)
	if rc := f.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	if f.wal {
		if before, ok := beforeWAL.Load(strings.TrimSuffix(f.path, "-wal")); ok {
			if before.(func() error)() != nil {
				return sqlite3.SQLITE_IOERR_FSYNC
			}
		}
	}
	if f.watcher == nil {
		return function[flagFunc](f.under.FxSync)(tls, file, flags)
	}
	rc := int32(sqlite3.SQLITE_OK)
	_ = f.watcher.Sync(f.path, func() error {
		if rc = function[flagFunc](f.under.FxSync)(tls, file, flags); rc != sqlite3.SQLITE_OK {
			return errSync
		}
		return nil
	})
	return rc
}

func remove(tls *libc.TLS, vfs, name uintptr, syncFolder int32) int32 {
	path := libc.GoString(name)
	_, err := os.Stat(path)
	rc := function[nameFunc](underVFS.FxDelete)(tls, vfs, name, syncFolder)
	if w := watcherOf(path); w != nil && rc == sqlite3.SQLITE_OK && err == nil {
		w.Removed(path)
	}
	return rc
}
