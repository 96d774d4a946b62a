// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"geosql.dev/operator/internal/agent/backups"
	"geosql.dev/operator/internal/metrics"
	"geosql.dev/operator/internal/mssql/conf"
)

const (
	// roomEvery is the time between two looks at how full the volumes are.
	roomEvery = 30 * time.Second
	// roomStale is when a look is too old to be told.
	roomStale = 2 * time.Minute
	// growthOver is the time over which growth is averaged, growthLeast the least, over which it has to go on: what a
	// backup or a restored database takes once is no trend.
	growthOver  = time.Hour
	growthLeast = 10 * time.Minute
)

// volumeDirs are where the sidecar has the engine's volumes, by their roles.
func volumeDirs() map[string]string {
	return map[string]string{"data": conf.DataMount, "log": conf.LogMount, "tempdb": conf.TempDBMount,
		"backup": conf.BackupMount}
}

// VolumeRoom is how full a volume is, as its file system says.
type VolumeRoom struct {
	// CapacityBytes of the file system, FreeBytes of it for the engine.
	CapacityBytes int64 `json:"capacityBytes"`
	FreeBytes     int64 `json:"freeBytes"`
	// GrowthBytesPerHour is by how much more is used than an hour ago, or since the sidecar has begun to look, or than ten
	// minutes ago where that is less; 0 when no more is, or in the first ten minutes.
	GrowthBytesPerHour int64 `json:"growthBytesPerHour,omitempty"`
	// Measured is when it was looked at.
	Measured time.Time `json:"measured"`
}

// rooms looks at the volumes, again and again. One that does not answer has one look that waits for it, and no second,
// and holds up no other.
type rooms struct {
	dirs map[string]string
	// look is how a folder's file system is asked.
	look func(dir string) (capacity, free int64, err error)
	now  func() time.Time

	mu      sync.Mutex
	pending map[string]bool
	// seen are the looks of the last hour, the oldest first.
	seen map[string][]VolumeRoom
}

var _ prometheus.Collector = (*rooms)(nil)

func newRooms(dirs map[string]string) *rooms {
	return &rooms{dirs: dirs, look: backups.FileSystem, now: time.Now, pending: map[string]bool{},
		seen: map[string][]VolumeRoom{}}
}

// run looks until ctx ends.
func (r *rooms) run(ctx context.Context) {
	ticker := time.NewTicker(roomEvery)
	defer ticker.Stop()
	for {
		for role, dir := range r.dirs {
			go r.once(role, dir)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// once looks at a volume unless a look is waiting for it.
func (r *rooms) once(role, dir string) {
	r.mu.Lock()
	busy := r.pending[role]
	r.pending[role] = true
	r.mu.Unlock()
	if busy {
		return
	}
	capacity, free, err := r.look(dir)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[role] = false
	if err != nil || capacity <= 0 {
		return // that nothing is known shows by the age of what was
	}
	now := r.now()
	kept := r.seen[role]
	for len(kept) > 0 && now.Sub(kept[0].Measured) > growthOver {
		kept = kept[1:]
	}
	room := VolumeRoom{CapacityBytes: capacity, FreeBytes: free, Measured: now}
	lately := slices.IndexFunc(kept, func(r VolumeRoom) bool { return now.Sub(r.Measured) < growthLeast })
	if lately < 0 {
		lately = len(kept)
	}
	if lately > 0 {
		room.GrowthBytesPerHour = min(growth(kept[0], room), growth(kept[lately-1], room))
	}
	r.seen[role] = append(kept[:len(kept):len(kept)], room)
}

// growth is what is used more than before, per hour. A file system that has grown has more free, and uses no less.
func growth(before, now VolumeRoom) int64 {
	passed := now.Measured.Sub(before.Measured)
	more := now.CapacityBytes - now.FreeBytes - (before.CapacityBytes - before.FreeBytes)
	if more <= 0 {
		return 0
	}
	return int64(float64(more) / passed.Hours())
}

// current are the last looks that are not stale; nil when there are none.
func (r *rooms) current() map[string]VolumeRoom {
	r.mu.Lock()
	defer r.mu.Unlock()
	var current map[string]VolumeRoom
	for role, seen := range r.seen {
		if last := seen[len(seen)-1]; r.now().Sub(last.Measured) < roomStale {
			if current == nil {
				current = map[string]VolumeRoom{}
			}
			current[role] = last
		}
	}
	return current
}

// Families of the volumes.
var (
	volumeCapacity = gauge("geosql_agent_volume_capacity_bytes",
		"Size of the file system of a volume: data, log, tempdb or backup. Without it nothing has been heard of the volume "+
			"for two minutes.", "volume")
	volumeFree = gauge("geosql_agent_volume_free_bytes", "What is free of the file system of a volume.", "volume")
)

// Describe implements prometheus.Collector.
func (r *rooms) Describe(descs chan<- *prometheus.Desc) {
	descs <- volumeCapacity.Desc()
	descs <- volumeFree.Desc()
}

// Collect implements prometheus.Collector. It asks no volume.
func (r *rooms) Collect(out chan<- prometheus.Metric) {
	s := metrics.Sink(out)
	for role, room := range r.current() {
		s.Set(volumeCapacity, float64(room.CapacityBytes), role)
		s.Set(volumeFree, float64(room.FreeBytes), role)
	}
}
