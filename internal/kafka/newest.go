package kafka

import (
	"context"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startNewest makes a group begin with the records that come from now on; now is in milliseconds
// since 1970. The client's AfterMilli lists the end of a partition next to looking for a record of
// that time. What is written between the two is skipped.
func startNewest(group string, now int64) []kgo.Opt {
	var client *kgo.Client
	return []kgo.Opt{
		kgo.ConsumeStartOffset(kgo.NewOffset().AtEnd()), // how one without an offset is known below
		kgo.OnOffsetsFetched(func(
			_ context.Context, c *kgo.Client, _ *kmsg.OffsetFetchResponse,
		) error {
			client = c
			return nil
		}),
		kgo.AdjustFetchOffsetsFn(func(
			ctx context.Context, all map[string]map[int32]kgo.Offset,
		) (map[string]map[int32]kgo.Offset, error) {
			for topic, offsets := range all {
				if err := begin(ctx, client, group, topic, now, offsets); err != nil {
					return nil, err
				}
			}
			return all, nil
		}),
	}
}

// begin sets the offsets of a topic's partitions where the group has none.
//
// The first member that meets a topic commits where each of its partitions begins. So a partition
// without an offset in a topic that has some was added later, and is read from its start, whoever
// finds it, after a restart, too.
func begin(
	ctx context.Context, c *kgo.Client, group, topic string, now int64,
	offsets map[int32]kgo.Offset,
) error {
	known := true
	for _, o := range offsets {
		known = known && o.EpochOffset().Offset >= 0
	}
	if known {
		return nil
	}
	admin := kadm.NewClient(c)
	starts, err := offsetsOf(ctx, admin, group, topic)
	if err == nil && len(starts) == 0 {
		if starts, err = startsAfter(ctx, admin, topic, now); err == nil {
			err = commitStarts(ctx, c, topic, starts)
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

// offsetsOf returns the offsets that a group has in a topic.
func offsetsOf(
	ctx context.Context, admin *kadm.Client, group, topic string,
) (map[int32]kgo.EpochOffset, error) {
	found, err := admin.FetchOffsetsForTopics(ctx, group, topic)
	if err != nil {
		return nil, err
	}
	all := map[int32]kgo.EpochOffset{}
	found.Each(func(o kadm.OffsetResponse) {
		if o.At >= 0 {
			all[o.Partition] = kgo.EpochOffset{Epoch: o.LeaderEpoch, Offset: o.At}
		}
	})
	return all, nil
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
