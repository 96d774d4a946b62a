// SPDX-License-Identifier: Apache-2.0

package transfer

import (
	"fmt"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
)

const (
	// shrunk is to which part of its length a chunk has to shrink for it to be worth its unpacking.
	shrunk = 0.9
	// mostSkipped bounds how many chunks go as they are before another one is tried.
	mostSkipped = 16
	// recent is the weight of the newest measurement.
	recent = 0.2
)

// judge decides whether the next chunk is compressed. It is told what came of the last ones.
type judge struct {
	// speed at which chunks were compressed, in bytes per second of one stream; 0 while nothing is known.
	speed float64
	// ratio of what they became to what they were.
	ratio float64
	// skip are the chunks that go as they are before another one is tried, skips how many they were the last time.
	skip, skips int
}

// tries says whether the next chunk is compressed.
func (j *judge) tries(how Compression) bool {
	switch how {
	case Always:
		return true
	case Never:
		return false
	}
	if j.skip > 0 {
		j.skip--
		return false
	}
	return true
}

// tried learns that a chunk of so many bytes became so many in a time, and how many of the next ones go as they are.
func (j *judge) tried(before, after int, took time.Duration, link int64) {
	speed, ratio := float64(before)/max(took.Seconds(), 1e-9), float64(after)/float64(before)
	if j.speed == 0 {
		j.speed, j.ratio = speed, ratio
	}
	j.speed += recent * (speed - j.speed)
	j.ratio += recent * (ratio - j.ratio)
	if ratio <= shrunk && worth(link, j.speed, j.ratio) {
		j.skips = 0
		return
	}
	j.skips = min(max(1, 2*j.skips), mostSkipped)
	j.skip = j.skips
}

// worth says whether bytes come sooner when they are compressed at a speed to a ratio: to compress and to send less
// takes less time than to send all.
func worth(link int64, speed, ratio float64) bool {
	return link <= 0 || 1/speed+ratio/float64(link) < 1/float64(link)
}

// packer compresses chunks for all streams of a source.
type packer struct {
	// encoders pack for one who asks, strong ones for all.
	encoders, strong sync.Pool

	mu sync.Mutex
	// judges by the receiver: each has its own link, and its own files.
	judges map[string]*judge
}

// judge of a receiver. p.mu is held.
func (p *packer) judge(receiver string) *judge {
	j := p.judges[receiver]
	if j == nil {
		if p.judges == nil {
			p.judges = map[string]*judge{}
		}
		j = &judge{}
		p.judges[receiver] = j
	}
	return j
}

// pack compresses a chunk into the buffer; nil says that it goes as it is.
func (p *packer) pack(raw, buffer []byte, how Compression, receiver string, link int64) ([]byte, error) {
	p.mu.Lock()
	tries := p.judge(receiver).tries(how)
	p.mu.Unlock()
	if !tries {
		return nil, nil
	}
	encoder, err := encoderOf(&p.encoders, zstd.SpeedFastest)
	if err != nil {
		return nil, err
	}
	defer p.encoders.Put(encoder)
	began := time.Now()
	packed := encoder.EncodeAll(raw, buffer[:0])
	p.mu.Lock()
	p.judge(receiver).tried(len(raw), len(packed), time.Since(began), link)
	p.mu.Unlock()
	if float64(len(packed)) > shrunk*float64(len(raw)) {
		return nil, nil
	}
	return packed, nil
}

// squeeze compresses a chunk into the buffer for all who will ask for it, so that it may take longer; nil says that it
// goes as it is.
func (p *packer) squeeze(raw, buffer []byte) ([]byte, error) {
	encoder, err := encoderOf(&p.strong, zstd.SpeedBetterCompression)
	if err != nil {
		return nil, err
	}
	defer p.strong.Put(encoder)
	packed := encoder.EncodeAll(raw, buffer[:0])
	if float64(len(packed)) > shrunk*float64(len(raw)) {
		return nil, nil
	}
	return packed, nil
}

// encoderOf takes an encoder from those of a level.
func encoderOf(pool *sync.Pool, level zstd.EncoderLevel) (*zstd.Encoder, error) {
	if encoder, _ := pool.Get().(*zstd.Encoder); encoder != nil {
		return encoder, nil
	}
	// The window, and with it the memory of one, is the part of a chunk in which repetition is looked for.
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(level), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithEncoderCRC(false))
	if err != nil {
		return nil, fmt.Errorf("make ready to compress: %w", err)
	}
	return encoder, nil
}

// unpackers unpack chunks; each takes no more memory than a chunk.
var unpackers = sync.Pool{}

// unpack unpacks a chunk into the buffer.
func unpack(packed, buffer []byte) ([]byte, error) {
	decoder, _ := unpackers.Get().(*zstd.Decoder)
	if decoder == nil {
		var err error
		if decoder, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxChunk),
			zstd.WithDecoderLowmem(true)); err != nil {
			return nil, fmt.Errorf("make ready to unpack: %w", err)
		}
	}
	defer unpackers.Put(decoder)
	return decoder.DecodeAll(packed, buffer[:0])
}
