/** Generated from crds/collector-version-policy.yaml by `make generate`. Edit that file instead. */
import type { StructuralSchema } from '../structural-schema.ts';

export const collectorVersionPolicySchema: StructuralSchema = {
  "type": "object",
  "required": [
    "spec"
  ],
  "x-kubernetes-validations": [
    {
      "rule": "!has(self.metadata.name) || size(self.metadata.name) <= 190",
      "message": "the name has more than 190 characters: write a shorter one, since other objects are named after it"
    }
  ],
  "properties": {
    "apiVersion": {
      "type": "string"
    },
    "kind": {
      "type": "string"
    },
    "metadata": {
      "type": "object"
    },
    "spec": {
      "type": "object",
      "required": [
        "credentialsSecretRef",
        "target",
        "selector"
      ],
      "properties": {
        "credentialsSecretRef": {
          "type": "object",
          "example": {
            "name": "log-service"
          },
          "required": [
            "name"
          ],
          "properties": {
            "name": {
              "type": "string",
              "example": "log-service",
              "maxLength": 253,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$\")",
                  "message": "write the name of a Secret in the policy's namespace: lower-case letters, digits, '-' and '.', as in log-service"
                }
              ]
            }
          }
        },
        "target": {
          "type": "object",
          "example": {
            "version": "19.500-1"
          },
          "properties": {
            "version": {
              "type": "string",
              "example": "19.500-1",
              "maxLength": 32,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\")",
                  "message": "write the version as MAJOR.MINOR-BUILD, as in 19.500-1"
                }
              ]
            },
            "channel": {
              "type": "string",
              "enum": [
                "Latest"
              ]
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "has(self.version) != has(self.channel)",
              "message": "write exactly one of the two: version, as in {version: 19.500-1}, or channel, as in {channel: Latest}"
            }
          ]
        },
        "allowDowngrade": {
          "type": "boolean",
          "default": false
        },
        "selector": {
          "type": "object",
          "example": {
            "matchNames": [
              "web-*"
            ],
            "matchFields": {
              "osName": "Linux"
            }
          },
          "properties": {
            "matchNames": {
              "type": "array",
              "minItems": 1,
              "maxItems": 100,
              "items": {
                "type": "string",
                "minLength": 1,
                "maxLength": 256
              }
            },
            "matchFields": {
              "type": "object",
              "maxProperties": 11,
              "additionalProperties": {
                "type": "string",
                "maxLength": 256
              },
              "x-kubernetes-validations": [
                {
                  "rule": "self.all(key, key in [\"name\", \"hostName\", \"timeZone\", \"ephemeral\", \"sourceSyncMode\", \"collectorType\", \"collectorVersion\", \"osName\", \"osVersion\", \"osArch\", \"alive\"])",
                  "message": "write fields of a collector only: name, hostName, timeZone, ephemeral, sourceSyncMode, collectorType, collectorVersion, osName, osVersion, osArch, alive"
                },
                {
                  "rule": "self.all(key, !(key in [\"alive\", \"ephemeral\"]) || self[key] in [\"true\", \"false\"])",
                  "message": "write \"true\" or \"false\", in quotes, for alive and ephemeral"
                }
              ]
            },
            "matchExpressions": {
              "type": "array",
              "maxItems": 20,
              "items": {
                "type": "object",
                "required": [
                  "key",
                  "operator"
                ],
                "properties": {
                  "key": {
                    "type": "string",
                    "example": "collectorVersion",
                    "enum": [
                      "name",
                      "hostName",
                      "timeZone",
                      "ephemeral",
                      "sourceSyncMode",
                      "collectorType",
                      "collectorVersion",
                      "osName",
                      "osVersion",
                      "osArch",
                      "alive"
                    ]
                  },
                  "operator": {
                    "type": "string",
                    "example": "Lt",
                    "enum": [
                      "In",
                      "NotIn",
                      "Exists",
                      "DoesNotExist",
                      "Lt",
                      "Lte",
                      "Gt",
                      "Gte"
                    ]
                  },
                  "values": {
                    "type": "array",
                    "maxItems": 100,
                    "items": {
                      "type": "string",
                      "maxLength": 256
                    }
                  }
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "!(self.operator in [\"In\", \"NotIn\"]) || (has(self.values) && size(self.values) > 0)",
                    "message": "In and NotIn need values: write at least one, as in values: [Linux]"
                  },
                  {
                    "rule": "!(self.operator in [\"Exists\", \"DoesNotExist\"]) || !has(self.values) || size(self.values) == 0",
                    "message": "Exists and DoesNotExist take no values: leave values out, or write operator: In",
                    "fieldPath": ".values"
                  },
                  {
                    "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || self.key == \"collectorVersion\"",
                    "message": "Lt, Lte, Gt and Gte order versions only: write key: collectorVersion, or operator: In",
                    "fieldPath": ".key"
                  },
                  {
                    "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || (has(self.values) && size(self.values) == 1 && self.values[0].matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\"))",
                    "message": "Lt, Lte, Gt and Gte need exactly one version: write it as MAJOR.MINOR-BUILD, as in values: [19.400-1]"
                  },
                  {
                    "rule": "!(self.key in [\"alive\", \"ephemeral\"]) || !has(self.values) || self.values.all(value, value in [\"true\", \"false\"])",
                    "message": "write \"true\" or \"false\", in quotes, for alive and ephemeral",
                    "fieldPath": ".values"
                  }
                ]
              }
            }
          }
        },
        "exclude": {
          "type": "array",
          "maxItems": 10,
          "items": {
            "type": "object",
            "properties": {
              "matchNames": {
                "type": "array",
                "minItems": 1,
                "maxItems": 100,
                "items": {
                  "type": "string",
                  "minLength": 1,
                  "maxLength": 256
                }
              },
              "matchFields": {
                "type": "object",
                "maxProperties": 11,
                "additionalProperties": {
                  "type": "string",
                  "maxLength": 256
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "self.all(key, key in [\"name\", \"hostName\", \"timeZone\", \"ephemeral\", \"sourceSyncMode\", \"collectorType\", \"collectorVersion\", \"osName\", \"osVersion\", \"osArch\", \"alive\"])",
                    "message": "write fields of a collector only: name, hostName, timeZone, ephemeral, sourceSyncMode, collectorType, collectorVersion, osName, osVersion, osArch, alive"
                  },
                  {
                    "rule": "self.all(key, !(key in [\"alive\", \"ephemeral\"]) || self[key] in [\"true\", \"false\"])",
                    "message": "write \"true\" or \"false\", in quotes, for alive and ephemeral"
                  }
                ]
              },
              "matchExpressions": {
                "type": "array",
                "maxItems": 20,
                "items": {
                  "type": "object",
                  "required": [
                    "key",
                    "operator"
                  ],
                  "properties": {
                    "key": {
                      "type": "string",
                      "example": "collectorVersion",
                      "enum": [
                        "name",
                        "hostName",
                        "timeZone",
                        "ephemeral",
                        "sourceSyncMode",
                        "collectorType",
                        "collectorVersion",
                        "osName",
                        "osVersion",
                        "osArch",
                        "alive"
                      ]
                    },
                    "operator": {
                      "type": "string",
                      "example": "Lt",
                      "enum": [
                        "In",
                        "NotIn",
                        "Exists",
                        "DoesNotExist",
                        "Lt",
                        "Lte",
                        "Gt",
                        "Gte"
                      ]
                    },
                    "values": {
                      "type": "array",
                      "maxItems": 100,
                      "items": {
                        "type": "string",
                        "maxLength": 256
                      }
                    }
                  },
                  "x-kubernetes-validations": [
                    {
                      "rule": "!(self.operator in [\"In\", \"NotIn\"]) || (has(self.values) && size(self.values) > 0)",
                      "message": "In and NotIn need values: write at least one, as in values: [Linux]"
                    },
                    {
                      "rule": "!(self.operator in [\"Exists\", \"DoesNotExist\"]) || !has(self.values) || size(self.values) == 0",
                      "message": "Exists and DoesNotExist take no values: leave values out, or write operator: In",
                      "fieldPath": ".values"
                    },
                    {
                      "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || self.key == \"collectorVersion\"",
                      "message": "Lt, Lte, Gt and Gte order versions only: write key: collectorVersion, or operator: In",
                      "fieldPath": ".key"
                    },
                    {
                      "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || (has(self.values) && size(self.values) == 1 && self.values[0].matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\"))",
                      "message": "Lt, Lte, Gt and Gte need exactly one version: write it as MAJOR.MINOR-BUILD, as in values: [19.400-1]"
                    },
                    {
                      "rule": "!(self.key in [\"alive\", \"ephemeral\"]) || !has(self.values) || self.values.all(value, value in [\"true\", \"false\"])",
                      "message": "write \"true\" or \"false\", in quotes, for alive and ephemeral",
                      "fieldPath": ".values"
                    }
                  ]
                }
              }
            }
          }
        },
        "priority": {
          "type": "integer",
          "format": "int32",
          "minimum": -1000000,
          "maximum": 1000000,
          "default": 0
        },
        "mode": {
          "type": "string",
          "enum": [
            "Enforce",
            "Observe"
          ],
          "default": "Enforce"
        },
        "paused": {
          "type": "boolean",
          "default": false
        },
        "resyncInterval": {
          "type": "string",
          "maxLength": 16,
          "default": "5m",
          "x-kubernetes-validations": [
            {
              "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
              "message": "write a duration in hours, minutes and seconds, as in 30s, 5m or 1h30m"
            },
            {
              "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"10s\") && duration(self) <= duration(\"24h\"))",
              "message": "write a duration from 10s to 24h"
            }
          ]
        },
        "strategy": {
          "type": "object",
          "default": {},
          "properties": {
            "maxInProgress": {
              "x-kubernetes-int-or-string": true,
              "maxLength": 16,
              "default": "5%",
              "x-kubernetes-validations": [
                {
                  "rule": "type(self) == int ? (self >= 1 && self <= 1000) : self.matches(\"^(100|[1-9][0-9]?)%$\")",
                  "message": "write a number of collectors from 1 to 1000, or a percentage from 1% to 100%, as in 5%; to start nothing, write paused: true"
                }
              ]
            },
            "order": {
              "type": "string",
              "enum": [
                "OldestVersionFirst",
                "NewestVersionFirst",
                "Name"
              ],
              "default": "OldestVersionFirst"
            }
          }
        },
        "retryPolicy": {
          "type": "object",
          "default": {},
          "properties": {
            "limit": {
              "type": "integer",
              "format": "int32",
              "minimum": 0,
              "maximum": 10,
              "default": 2
            },
            "backoff": {
              "type": "object",
              "default": {
                "duration": "5m",
                "factor": 2,
                "cap": "1h"
              },
              "properties": {
                "duration": {
                  "type": "string",
                  "maxLength": 16,
                  "default": "5m",
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                      "message": "write a duration in hours, minutes and seconds, as in 30s, 5m or 1h30m"
                    },
                    {
                      "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"1s\") && duration(self) <= duration(\"24h\"))",
                      "message": "write a duration from 1s to 24h"
                    }
                  ]
                },
                "factor": {
                  "type": "integer",
                  "format": "int32",
                  "minimum": 1,
                  "maximum": 10,
                  "default": 2
                },
                "cap": {
                  "type": "string",
                  "maxLength": 16,
                  "default": "1h",
                  "x-kubernetes-validations": [
                    {
                      "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                      "message": "write a duration in hours, minutes and seconds, as in 30s, 5m or 1h30m"
                    },
                    {
                      "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"1s\") && duration(self) <= duration(\"24h\"))",
                      "message": "write a duration from 1s to 24h"
                    }
                  ]
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!self.duration.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || !self.cap.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || duration(self.cap) >= duration(self.duration)",
                  "message": "cap is shorter than duration: write a cap (1h where it is left out) that is at least as long",
                  "fieldPath": ".cap"
                }
              ]
            }
          }
        }
      }
    },
    "status": {
      "type": "object"
    }
  }
};
