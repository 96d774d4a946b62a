// SPDX-License-Identifier: Apache-2.0

package subscription

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"geosql.dev/operator/api/v1alpha1"
	"geosql.dev/operator/internal/agent/files"
	"geosql.dev/operator/internal/agent/orders"
	"geosql.dev/operator/internal/mssql"
	"geosql.dev/operator/internal/mssql/credentials"
)

// An attempt is one backup with which a subscriber is to begin, by the order of the sidecar at the publisher's primary:
// its stamp, the articles that it is for, and, once it is whole, the identity of the backup set. That set is the first
// of its file, over which no statement of the operator's writes; it is the one that is brought, restored and registered
// with, or none of these is done.

const (
	// mostFailed is how many attempts in a row may come to nothing before a person is asked.
	mostFailed = 4
	// failedPause is the pause after the first; it doubles with each.
	failedPause = 30 * time.Second
)

// order is that of the primary's sidecar for a backup of this subscription that is under way; nil while there is none.
func (o Observed) order(d Desired) *orders.Reader {
	r := o.Backup.Readers[o.primary(d)]
	if r == nil || r.Ended || r.Folder != d.backupFolder() || r.Backup == "" {
		return nil
	}
	return r
}

// attempt is the stamp of the backup that is under way at the primary; empty while none is, or it does not serve.
func (o Observed) attempt(d Desired) string {
	if r := o.order(d); r != nil && !o.outlived(d, r) && o.failed(d, r) == "" {
		return r.Backup
	}
	return ""
}

// outlived tells that a backup does not serve any more, for which nothing has failed: it is so old that the distributor
// may have removed what came after it, or the publication has an article that it is not for.
func (o Observed) outlived(d Desired, r *orders.Reader) bool {
	at, err := time.Parse(stampForm, r.Backup)
	return err != nil || o.Now.Sub(at) > o.retained(d)*3/4 || !covers(r.Attempt.Articles, o.Publication)
}

// failed says, as a clause, why a backup came to nothing; empty while that is not known.
func (o Observed) failed(d Desired, r *orders.Reader) string {
	primary := o.primary(d)
	at, set := credentials.HostName(primary), r.Attempt.Set
	taken, err := o.Backup.Taken.Get()
	from, unknown := o.Backup.From.Get()
	if err != nil || unknown != nil {
		return ""
	}
	switch h := taken.Header; {
	case taken.Missing != nil && set != "" && o.Backup.emptied(primary, r.Backup):
		return "its file is gone from " + at
	case taken.Missing != nil, set == "" && o.Backup.Taking:
		return ""
	case !taken.whole(d):
		return "the file on " + at + " is no whole backup of " + d.publisherDatabase()
	case set != "" && h.ID != set:
		return "the file on " + at + " has another backup set than when it was written"
	case from.Family != "" && h.Family != from.Family, from.Fork != "" && h.Fork != from.Fork:
		return d.publisherDatabase() + " on " + at + " was restored since, or is another database"
	}
	if m := o.Backup.Mirror; m != nil && m.State == files.Verified && m.Generation == generation(r.Backup) &&
		m.Snapshot != r.Backup {
		return fmt.Sprintf("the sidecar of %s has brought %s in its place", d.host(), m.Snapshot)
	}
	if brought, err := o.Backup.Brought.Get(); err == nil && brought.Missing == nil && !taken.is(brought) {
		return "what was brought to " + d.host() + " is another backup set"
	}
	return ""
}

// proved tells that the subscriber's database is what was restored of the backup set with which the subscription would
// be registered now, and that the published database, which was asked, is still the one of which that set is.
func (o Observed) proved(d Desired) bool {
	r := o.order(d)
	taken, err := o.Backup.Taken.Get()
	from, unknown := o.Backup.From.Get()
	return r != nil && o.attempt(d) != "" && err == nil && unknown == nil && from.Allowed && from.ImmediateSync &&
		taken.whole(d) && taken.Header.ID == r.Attempt.Set && o.restoredSet(d, r) && o.online()
}

// lastFailed is what stands of attempts that came to nothing in a row; the zero value when the last one did not, or the
// distributor keeps for longer by now what comes after a backup.
func (o Observed) lastFailed(d Desired) (last orders.Attempt) {
	for _, r := range o.Backup.Readers {
		if r.Folder == d.backupFolder() && r.Attempt.Failed > last.Failed {
			last = r.Attempt
		}
	}
	if hours(o.retained(d)) > last.Retention {
		return orders.Attempt{}
	}
	return orders.Attempt{Failed: last.Failed, Why: last.Why, NotBefore: last.NotBefore, Retention: last.Retention}
}

// begins is the order for a new attempt.
func (o Observed) begins(d Desired, sender Sender) *orders.Reader {
	last := o.lastFailed(d)
	last.NotBefore, last.Articles = "", articlesOf(o.Publication)
	return &orders.Reader{Subscription: d.backupName(), Folder: d.backupFolder(), Token: sender.Token,
		Transfers: sender.Sends, Backup: o.nextStamp(), Attempt: last}
}

// givenUp ends the order of an attempt that came to nothing.
func (o Observed) givenUp(d Desired, r *orders.Reader, why string) *orders.Reader {
	last := o.lastFailed(d)
	last.Failed++
	last.Why, last.Retention = fmt.Sprintf("backup %s: %s", r.Backup, why), hours(o.retained(d))
	last.NotBefore = o.Now.Add(failedPause << min(last.Failed-1, 8)).UTC().Format(time.RFC3339)
	given := ended(r)
	given.Attempt = last
	return given
}

// ended has a sidecar remove the backups of an order. What failed before it stays noted.
func ended(r *orders.Reader) *orders.Reader {
	return &orders.Reader{Subscription: r.Subscription, Folder: r.Folder, Backup: r.Backup, Ended: true,
		Attempt: orders.Attempt{Failed: r.Attempt.Failed, Why: r.Attempt.Why, NotBefore: r.Attempt.NotBefore,
			Retention: r.Attempt.Retention}}
}

// nextStamp is one that nobody was told before, also where clocks go back.
func (o Observed) nextStamp() string {
	at := o.Now.UTC().Truncate(time.Second)
	var told []string
	for _, r := range o.Backup.Readers {
		told = append(told, r.Backup)
	}
	if m := o.Backup.Told; m != nil {
		told = append(told, files.Stamp(m.Generation))
	}
	for _, stamp := range told {
		if before, err := time.Parse(stampForm, stamp); err == nil && !before.Before(at) {
			at = before.Add(time.Second)
		}
	}
	return at.Format(stampForm)
}

func hours(d time.Duration) int { return int(d / time.Hour) }

// articlesOf are a publication and its articles by the publisher's numbers.
func articlesOf(p *mssql.Publication) string {
	var all []int
	for _, a := range p.Articles {
		all = append(all, a.ID)
	}
	slices.Sort(all)
	text := strconv.Itoa(p.ID) + ":"
	for _, id := range all {
		text += " " + strconv.Itoa(id)
	}
	return text
}

// covers tells that articles, as an order has them, are of the publication and have all of its articles.
func covers(articles string, p *mssql.Publication) bool {
	if p == nil {
		return false
	}
	for _, a := range p.Articles {
		if !covered(articles, p, a) {
			return false
		}
	}
	return len(p.Articles) > 0
}

// covered tells that an article is among those that an order has.
func covered(articles string, p *mssql.Publication, a mssql.PublishedArticle) bool {
	publication, numbers, _ := strings.Cut(articles, ":")
	return publication == strconv.Itoa(p.ID) && slices.Contains(strings.Fields(numbers), strconv.Itoa(a.ID))
}

// FoundBackup is what lies where a backup is written, or was brought.
type FoundBackup struct {
	// Header of the first backup set of the file; nil where it has none that can be read.
	Header *mssql.BackupHeader
	// Missing is why no file opened there; nil where one did.
	Missing error
}

// fullBackup is the type of a full backup of a database in its header.
const fullBackup = 1

// whole tells that it is a full backup of the published database that was written to its end.
func (f FoundBackup) whole(d Desired) bool {
	h := f.Header
	return h != nil && h.Type == fullBackup && h.Position == 1 && h.ID != "" && h.CopyOnly && h.Checksum && !h.Damaged &&
		strings.EqualFold(h.Database, d.publisherDatabase())
}

// is tells that both are one backup set.
func (f FoundBackup) is(other FoundBackup) bool {
	a, b := f.Header, other.Header
	return a != nil && b != nil && a.ID == b.ID && a.FirstLSN == b.FirstLSN && a.LastLSN == b.LastLSN &&
		a.Family == b.Family && a.Fork == b.Fork
}

// emptied tells that a server's sidecar has the folder for a backup, with nothing in it.
func (b Backup) emptied(server v1alpha1.ServerName, stamp string) bool {
	return b.made(server, stamp) && b.Sent[server].Total == 0
}

// restoredSet tells that the subscriber's database is what was restored of an attempt's backup set.
func (o Observed) restoredSet(d Desired, r *orders.Reader) bool {
	return r.Attempt.Set != "" && o.restoredOf(d, markedBy(r))
}

// markedBy is an attempt's part of the mark: its stamp, and its backup set.
func markedBy(r *orders.Reader) string { return r.Backup + "-" + r.Attempt.Set }
