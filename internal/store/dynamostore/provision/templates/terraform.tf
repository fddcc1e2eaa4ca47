# The tables of Andon, with auto scaling, alarms and the policy of who may use them. Printed by
# andon store template.

terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 6.20"
    }
  }
}

variable "alarm_topics" {
  type        = list(string)
  default     = []
  description = "ARNs of the SNS topics that alarms go to."
}

# What a process of Andon may do, and no more: attach it to its role.
resource "aws_iam_policy" "access" {
  name_prefix = "andon-access-"
  description = "What a process of Andon does with its tables."

  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [{
      Effect = "Allow"
      Action = [
        {{- range .Actions}}
        "dynamodb:{{.}}",
        {{- end}}
      ]
      Resource = [
        {{- range .Tables}}
        aws_dynamodb_table.{{id .ID}}.arn,
        {{- if .Indexes}}
        "${aws_dynamodb_table.{{id .ID}}.arn}/index/*",
        {{- end}}
        {{- end}}
      ]
    }]
  })
}

output "access_policy" {
  description = "The policy to attach to the role of Andon."
  value       = aws_iam_policy.access.arn
}
{{- if .Provisioned}}

# What auto scaling has made of the capacity of each index. An index is a part of its table here, so
# its capacity can't be ignored without ignoring the index: it stays what it is.
data "aws_dynamodb_tables" "all" {}

data "aws_dynamodb_table" "existing" {
  for_each = setintersection(data.aws_dynamodb_tables.all.names, [
    {{- range .Tables}}
    {{- if .Indexes}}
    "{{.Name}}",
    {{- end}}
    {{- end}}
  ])
  name = each.value
}

locals {
  indexes = merge([for t in data.aws_dynamodb_table.existing : {
    for i in t.global_secondary_index : "${t.name}/${i.name}" => i
  }]...)
}
{{- end}}
{{- range $t := .Tables}}

resource "aws_dynamodb_table" "{{id .ID}}" {
  {{- if $.Provisioned}}
  {{- assign 2 "name" (quote .Name) "hash_key" (quote .Key.Hash) "range_key" (quote .Key.Sort) "billing_mode" (quote "PROVISIONED") "read_capacity" $.Capacity.Read.Min "write_capacity" $.Capacity.Write.Min}}
  {{- else}}
  {{- assign 2 "name" (quote .Name) "hash_key" (quote .Key.Hash) "range_key" (quote .Key.Sort) "billing_mode" (quote "PAY_PER_REQUEST")}}
  {{- end}}
  {{- with $.Capacity.View}}

  stream_enabled   = true
  stream_view_type = "{{.}}"
  {{- end}}
  {{- with $.Capacity.Limits}}

  on_demand_throughput {
    max_read_request_units  = {{.MaxReadRequestUnits}}
    max_write_request_units = {{.MaxWriteRequestUnits}}
  }
  {{- end}}
  {{- with $.Capacity.Warmed}}

  warm_throughput {
    read_units_per_second  = {{.ReadUnitsPerSecond}}
    write_units_per_second = {{.WriteUnitsPerSecond}}
  }
  {{- end}}
  {{- range .Attributes}}

  attribute {
    name = "{{.}}"
    type = "S"
  }
  {{- end}}
  {{- range .Indexes}}

  global_secondary_index {
    {{- assign 4 "name" (quote .Name) "hash_key" (quote .Key.Hash) "range_key" (quote .Key.Sort)}}
    {{- with projection .}}

    projection_type = "{{.ProjectionType}}"
    {{- if .NonKeyAttributes}}

    non_key_attributes = [
      {{- range .NonKeyAttributes}}
      "{{.}}",
      {{- end}}
    ]
    {{- end}}
    {{- end}}
    {{- if $.Provisioned}}

    read_capacity  = try(local.indexes["{{$t.Name}}/{{.Name}}"].read_capacity, {{$.Capacity.Read.Min}})
    write_capacity = try(local.indexes["{{$t.Name}}/{{.Name}}"].write_capacity, {{$.Capacity.Write.Min}})
    {{- end}}
    {{- with $.Capacity.Limits}}

    on_demand_throughput {
      max_read_request_units  = {{.MaxReadRequestUnits}}
      max_write_request_units = {{.MaxWriteRequestUnits}}
    }
    {{- end}}
    {{- with $.Capacity.Warmed}}

    warm_throughput {
      read_units_per_second  = {{.ReadUnitsPerSecond}}
      write_units_per_second = {{.WriteUnitsPerSecond}}
    }
    {{- end}}
  }
  {{- end}}
  {{- if .TTL}}

  ttl {
    attribute_name = "{{.TTL}}"
    enabled        = true
  }
  {{- end}}
  {{- if $.Capacity.Recovery}}

  point_in_time_recovery {
    enabled = true
  }
  {{- end}}

  lifecycle {
    prevent_destroy = true
    {{- if $.Provisioned}}
    ignore_changes  = [read_capacity, write_capacity]
    {{- end}}
  }
}
{{- if $.Provisioned}}
{{- range .Scaled}}

resource "aws_appautoscaling_target" "{{id .Name}}" {
  service_namespace  = "dynamodb"
  resource_id        = "{{.Resource}}"
  scalable_dimension = "{{.Dimension}}"
  min_capacity       = {{.Min}}
  max_capacity       = {{.Max}}
  depends_on         = [aws_dynamodb_table.{{id $t.ID}}]
}

resource "aws_appautoscaling_policy" "{{id .Name}}" {
  name               = "{{.Name}}"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.{{id .Name}}.service_namespace
  resource_id        = aws_appautoscaling_target.{{id .Name}}.resource_id
  scalable_dimension = aws_appautoscaling_target.{{id .Name}}.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value = {{$.Target}}

    predefined_metric_specification {
      predefined_metric_type = "{{.Metric}}"
    }
  }
}
{{- end}}
{{- end}}
{{- range $a := .Alarms}}

resource "aws_cloudwatch_metric_alarm" "{{id $t.ID .ID}}" {
  alarm_name          = "{{$t.Name}}-{{.ID}}"
  alarm_description   = "{{$t.Name}}{{with .Index}}, {{.}}{{end}}: {{.Text}}"
  alarm_actions       = var.alarm_topics
  treat_missing_data  = "notBreaching"
  comparison_operator = "GreaterThanThreshold"
  evaluation_periods  = 5
  datapoints_to_alarm = {{.Minutes}}
  threshold           = {{.Above}}

  metric_query {
    id          = "total"
    expression  = "SUM(METRICS())"
    label       = "{{.ID}}"
    return_data = true
  }
  {{- range .Metrics}}

  metric_query {
    id = "{{lower .Name}}{{lower .Operation}}"

    metric {
      namespace   = "AWS/DynamoDB"
      metric_name = "{{.Name}}"
      stat        = "Sum"
      period      = 60

      dimensions = {
        {{- assign 8 "TableName" (print "aws_dynamodb_table." (id $t.ID) ".name") "GlobalSecondaryIndexName" (quote $a.Index) "Operation" (quote .Operation)}}
      }
    }
  }
  {{- end}}
}
{{- end}}
{{- end}}
