package kafka

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startNewest makes the group begin with the records that come from now on. The client's AfterMilli
// lists the end of a partition next to looking for a record of that time. What is written between
// the two is skipped.
func (c *Consumer) startNewest() []kgo.Opt {
	var client *kgo.Client
	return []kgo.Opt{
		kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd()), // how one without an offset is known below
		kgo.OnOffsetsFetched(func(
			_ context.Context, of *kgo.Client, _ *kmsg.OffsetFetchResponse,
		) error {
			client = of
			return nil
		}),
		kgo.AdjustFetchOffsetsFn(func(
			ctx context.Context, all map[string]map[int32]kgo.Offset,
		) (map[string]map[int32]kgo.Offset, error) {
			known, err := kadm.NewClient(client).FetchOffsets(ctx, c.Source.Group)
			if err != nil {
				return nil, err
			}
			c.since.Store(since(known, c.since.Load()))
			for topic, offsets := range all {
				if err := c.begin(ctx, client, topic, known[topic], offsets); err != nil {
					return nil, err
				}
			}
			return all, nil
		}),
	}
}

// since returns when the first process of a group began, in milliseconds since 1970. Each offset of
// the group says it, so that it is known of a topic that comes later, after a restart, too.
func since(known kadm.OffsetResponses, now int64) int64 {
	known.Each(func(o kadm.OffsetResponse) {
		if at, err := strconv.ParseInt(o.Metadata, 10, 64); err == nil && o.At >= 0 {
			now = min(now, at)
		}
	})
	return now
}

// withSince returns a context in which each commit notes since when the group reads.
func (c *Consumer) withSince(ctx context.Context) context.Context {
	return kgo.PreCommitFnContext(ctx, func(r *kmsg.OffsetCommitRequest) error {
		at := c.since.Load()
		if at == 0 {
			return nil
		}
		for i := range r.Topics {
			for j := range r.Topics[i].Partitions {
				r.Topics[i].Partitions[j].Metadata = new(strconv.FormatInt(at, 10))
			}
		}
		return nil
	})
}

// begin sets the offsets of a topic's partitions where the group has none.
//
// The first member that meets a topic commits where each of its partitions begins. So a partition
// without an offset in a topic that has some was added later, and is read from its start, whoever
// finds it, after a restart, too.
func (c *Consumer) begin(
	ctx context.Context, client *kgo.Client, topic string, known map[int32]kadm.OffsetResponse,
	offsets map[int32]kgo.Offset,
) (err error) {
	starts := map[int32]kgo.EpochOffset{}
	for partition, o := range known {
		if o.Err != nil {
			return o.Err
		}
		if o.At >= 0 {
			starts[partition] = kgo.EpochOffset{Epoch: o.LeaderEpoch, Offset: o.At}
		}
	}
	if len(starts) == 0 {
		starts, err = startsAfter(ctx, kadm.NewClient(client), topic, c.since.Load())
		if err == nil {
			err = commitStarts(c.withSince(ctx), client, topic, starts)
		}
	}
	if err != nil {
		return err
	}
	for partition, o := range offsets {
		if o.EpochOffset().Offset < 0 {
			offsets[partition] = kgo.NewOffset().AtStart()
			if start, there := starts[partition]; there {
				offsets[partition] = kgo.NewOffset().At(start.Offset)
			}
		}
	}
	return nil
}

// startsAfter returns where each partition has its first record of a time or later. The ends are
// listed first: what is written meanwhile is after the end that was found, or has such a time.
func startsAfter(
	ctx context.Context, admin *kadm.Client, topic string, milli int64,
) (map[int32]kgo.EpochOffset, error) {
	ends, err := admin.ListCommittedOffsets(ctx, topic)
	if err != nil {
		return nil, err
	}
	later, err := admin.ListOffsetsAfterMilli(ctx, milli, topic)
	if err != nil {
		return nil, err
	}
	all := map[int32]kgo.EpochOffset{}
	for partition, end := range ends[topic] {
		first, there := later.Lookup(topic, partition)
		switch {
		case end.Err != nil:
			return nil, end.Err
		case first.Err != nil:
			return nil, first.Err
		case !there:
			return nil, kerr.UnknownTopicOrPartition
		}
		all[partition] = kgo.EpochOffset{Epoch: -1, Offset: min(end.Offset, first.Offset)}
	}
	return all, nil
}

// commitStarts commits where the partitions of a topic begin.
func commitStarts(
	ctx context.Context, c *kgo.Client, topic string, starts map[int32]kgo.EpochOffset,
) (err error) {
	all := map[string]map[int32]kgo.EpochOffset{topic: starts}
	c.CommitOffsetsSync(ctx, all, func(
		_ *kgo.Client, _ *kmsg.OffsetCommitRequest, r *kmsg.OffsetCommitResponse, failed error,
	) {
		if err = failed; err != nil {
			return
		}
		for _, t := range r.Topics {
			for _, p := range t.Partitions {
				if err == nil {
					err = kerr.ErrorForCode(p.ErrorCode)
				}
			}
		}
	})
	return err
}
