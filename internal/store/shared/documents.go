package shared

import (
	"context"

	"github.com/andonhq/andon"
)

// Document is what a database stores of a record. One without data was deleted.
type Document struct {
	Version      int64 // a time in µs, or more; it only ever rises
	Due          andon.Time
	Data         string
	Incarnations int // of a tenant that was deleted: how many incarnations have ended
}

// Live returns the version of a record that exists; 0 where it does not.
func (d *Document) Live() uint64 {
	if d.Data == "" {
		return 0
	}
	return uint64(d.Version)
}

// Into fills in what is stored of a record.
func (d *Document) Into(r *andon.Record) {
	r.Version, r.Due, r.Data = uint64(d.Version), d.Due, andon.JSON(d.Data)
}

func (t *Tenancy) read(ctx context.Context, r *andon.Record) (string, Document, error) {
	key, err := t.KeyOf(ctx, r.Tenant)
	if err != nil {
		return "", Document{}, err
	}
	is, err := t.Read(ctx, key, r)
	return key, is, err
}

// Record implements andon.Records.
func (t *Tenancy) Record(
	ctx context.Context, tenant andon.TenantID, kind andon.RecordKind, id string,
) (andon.Record, error) {
	r := andon.Record{Tenant: tenant, Kind: kind, ID: id}
	_, is, err := t.read(ctx, &r)
	if err == nil && is.Live() == 0 {
		err = r.Missing()
	}
	if err != nil {
		return andon.Record{}, err
	}
	is.Into(&r)
	return r, nil
}

// PutRecord implements andon.Records.
func (t *Tenancy) PutRecord(ctx context.Context, r andon.Record) (andon.Record, error) {
	if err := r.Validate(); err != nil {
		return andon.Record{}, err
	}
	key, was, err := t.read(ctx, &r)
	if err == nil {
		err = r.CheckPut(was.Live())
	}
	if err != nil {
		return andon.Record{}, err
	}
	return t.Put(ctx, key, r, was)
}

// Put puts a record over what was read.
func (t *Tenancy) Put(
	ctx context.Context, key string, r andon.Record, was Document,
) (andon.Record, error) {
	is := Document{
		Version: t.Next(was), Due: r.Due, Data: string(r.Data), Incarnations: was.Incarnations,
	}
	if err := t.Write(ctx, key, &r, was, is); err != nil {
		return andon.Record{}, err
	}
	is.Into(&r)
	return r, nil
}

// Next returns the version that follows one that was read.
func (t *Tenancy) Next(was Document) int64 { return max(was.Version+1, t.Stamp()) }

// DeleteRecord implements andon.Records.
func (t *Tenancy) DeleteRecord(ctx context.Context, r andon.Record) error {
	if err := r.CheckOwned(); err != nil {
		return err
	}
	key, was, err := t.read(ctx, &r)
	if err == nil {
		err = r.CheckDelete(was.Live())
	}
	if err != nil {
		return err
	}
	return t.Write(ctx, key, &r, was, Document{Version: t.Next(was)})
}
