// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"os"
	"sync"
)

// PageSize is the size of a data file's page in bytes, SQL Server's.
const PageSize = 8192

// reserved is the end of every page that SQLite leaves alone: the page's number and the CRC-32C of all before
// (https://www.sqlite.org/fileformat2.html, section 1.3.4, "Reserved bytes per page").
const reserved = 8

const magic = "SQLite format 3\x00"

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Create writes an empty database whose pages have checksums. The file must not exist.
func Create(path string) error {
	page := make([]byte, PageSize)
	copy(page, magic)
	binary.BigEndian.PutUint16(page[16:], PageSize)
	page[18], page[19] = 1, 1 // rollback journal; PRAGMA journal_mode changes it
	page[20] = reserved
	page[21], page[22], page[23] = 64, 32, 32
	binary.BigEndian.PutUint32(page[24:], 1) // change counter
	binary.BigEndian.PutUint32(page[28:], 1) // pages
	binary.BigEndian.PutUint32(page[44:], 4) // schema format
	binary.BigEndian.PutUint32(page[56:], 1) // UTF-8
	binary.BigEndian.PutUint32(page[92:], 1) // the change counter for which the next is valid
	binary.BigEndian.PutUint32(page[96:], 3050000)
	page[100] = 13 // the schema's table, a leaf without cells
	binary.BigEndian.PutUint16(page[105:], PageSize-reserved)
	seal(page, 1)
	f, err := OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o640)
	if err != nil {
		return fmt.Errorf("create a data file: %w", err)
	}
	_, err = f.WriteAt(page, 0)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return fmt.Errorf("create a data file: %w", err)
	}
	return nil
}

// HasChecksums tells whether a data file's pages have them: those of files made before do not. No connection may have
// the file open.
func HasChecksums(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	head := make([]byte, 100)
	_, err = f.ReadAt(head, 0)
	return err == nil && sealed(head)
}

func sealed(head []byte) bool {
	return len(head) >= 24 && string(head[:16]) == magic && head[20] == reserved &&
		binary.BigEndian.Uint16(head[16:]) == PageSize
}

func seal(page []byte, number uint32) {
	end := len(page) - reserved
	binary.BigEndian.PutUint32(page[end:], number)
	binary.BigEndian.PutUint32(page[end+4:], crc32.Checksum(page[:end+4], castagnoli))
}

// Damage is a page that is not what was written (SQL Server's 824).
type Damage struct {
	// Path is the data file, Page the number of the page, from 1.
	Path string
	Page uint32
	// Expected is the checksum that was computed, Actual the one on the page.
	Expected, Actual uint32
	// PageNumber is the page's number as the page says it; another one is a page that was written to the wrong place.
	PageNumber uint32
}

// Error says what is damaged.
func (d *Damage) Error() string {
	if d.PageNumber != d.Page && d.Expected == d.Actual {
		return fmt.Sprintf("page %d of %s says that it is page %d", d.Page, d.Path, d.PageNumber)
	}
	return fmt.Sprintf("page %d of %s has checksum %08x, computed is %08x", d.Page, d.Path, d.Actual, d.Expected)
}

// check is nil for a page as it was written. A page of zeros is one that was never written: SQLite lets such pages be
// in its list of free ones, and takes them for damage anywhere else.
func check(page []byte, number uint32) *Damage {
	end := len(page) - reserved
	d := &Damage{
		Page:       number,
		PageNumber: binary.BigEndian.Uint32(page[end:]),
		Actual:     binary.BigEndian.Uint32(page[end+4:]),
	}
	d.Expected = crc32.Checksum(page[:end+4], castagnoli)
	if d.Expected == d.Actual && d.PageNumber == number {
		return nil
	}
	for _, b := range page {
		if b != 0 {
			return d
		}
	}
	return nil
}

var damages struct {
	mu     sync.Mutex
	byPath map[string]*Damage
	newest *Damage
}

func noteDamage(d *Damage) {
	damages.mu.Lock()
	defer damages.mu.Unlock()
	if damages.byPath == nil {
		damages.byPath = map[string]*Damage{}
	}
	damages.byPath[d.Path], damages.newest = d, d
}

// NewestDamage is the damage that was met last in the file, or, when there was none, in any file; nil when none was.
func NewestDamage(path string) *Damage {
	damages.mu.Lock()
	defer damages.mu.Unlock()
	if d := damages.byPath[path]; d != nil {
		return d
	}
	return damages.newest
}
