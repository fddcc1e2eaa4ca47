-- Raise the first day of projection.date.range to your first one: Athena looks at each.
{{- if not .Tenants}}
-- Each query has to name its tenant: WHERE tenant = 'default'.
{{- end}}
{{define "partitions"}}TBLPROPERTIES (
    'projection.enabled' = 'true',
{{- if .Tenants}}
    'projection.tenant.type' = 'enum',
    'projection.tenant.values' = '{{.Tenants}}',
{{- else}}
    'projection.tenant.type' = 'injected',
{{- end}}
    'projection.date.type' = 'date',
    'projection.date.format' = 'yyyy-MM-dd',
    'projection.date.range' = '1970-01-02,NOW+1DAYS',
{{end}}
CREATE EXTERNAL TABLE andon_events (
    device string,
    `time` timestamp,
    state string,
    severity int,
    operator string,
    escalated_to string,
    message string,
    attributes string
)
PARTITIONED BY (tenant string, `date` date)
STORED AS PARQUET
LOCATION '{{.To}}/'
{{template "partitions" .}}    'storage.location.template' = '{{.To}}/tenant=${tenant}/kind=events/date=${date}/'
);

CREATE EXTERNAL TABLE andon_readings (
    device string,
    `time` timestamp,
    metric string,
    value double,
    metadata string
)
PARTITIONED BY (tenant string, `date` date)
STORED AS PARQUET
LOCATION '{{.To}}/'
{{template "partitions" .}}    'storage.location.template' = '{{.To}}/tenant=${tenant}/kind=readings/date=${date}/'
);
