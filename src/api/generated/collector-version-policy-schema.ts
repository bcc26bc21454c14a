/** Generated from crds/collector-version-policy.yaml by `make generate`. Edit that file instead. */
import type { StructuralSchema } from '../../base/structural-schema.ts';

export const collectorVersionPolicySchema: StructuralSchema = {
  "type": "object",
  "required": [
    "spec"
  ],
  "x-kubernetes-validations": [
    {
      "rule": "!has(self.metadata.name) || size(self.metadata.name) <= 190",
      "problem": "the name has more than 190 characters",
      "remedy": "use a shorter name, because other objects are named after it"
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
                  "remedy": "use the name of a Secret in the policy's namespace: lower-case letters, digits, '-' and '.', for example log-service"
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
                  "remedy": "use the form MAJOR.MINOR-BUILD, for example 19.500-1"
                }
              ]
            },
            "channel": {
              "type": "string",
              "enum": [
                "Latest"
              ]
            },
            "versionPattern": {
              "type": "string",
              "example": "19.*",
              "minLength": 1,
              "maxLength": 32,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^[0-9.*?-]+$\")",
                  "remedy": "use a version glob: digits, \".\", \"-\", * for any number of characters and ? for exactly one, for example 19.*"
                }
              ]
            },
            "minAge": {
              "type": "string",
              "example": "168h",
              "maxLength": 16,
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                  "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                },
                {
                  "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"0s\") && duration(self) <= duration(\"2160h\"))",
                  "remedy": "use a duration from 0s to 2160h"
                }
              ]
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "has(self.version) != has(self.channel)",
              "remedy": "set exactly one of the two: version, for example {version: 19.500-1}, or channel, for example {channel: Latest}"
            },
            {
              "rule": "!has(self.versionPattern) || has(self.channel)",
              "fieldPath": ".versionPattern",
              "problem": "versionPattern applies only to a channel",
              "remedy": "leave versionPattern out, or set channel: Latest instead of version"
            },
            {
              "rule": "!has(self.minAge) || has(self.channel)",
              "fieldPath": ".minAge",
              "problem": "minAge applies only to a channel",
              "remedy": "leave minAge out, or set channel: Latest instead of version"
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
                  "remedy": "use only fields of a collector: name, hostName, timeZone, ephemeral, sourceSyncMode, collectorType, collectorVersion, osName, osVersion, osArch, alive"
                },
                {
                  "rule": "self.all(key, !(key in [\"alive\", \"ephemeral\"]) || self[key] in [\"true\", \"false\"])",
                  "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
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
                    "problem": "In and NotIn need values",
                    "remedy": "set at least one value, for example values: [Linux]"
                  },
                  {
                    "rule": "!(self.operator in [\"Exists\", \"DoesNotExist\"]) || !has(self.values) || size(self.values) == 0",
                    "fieldPath": ".values",
                    "problem": "Exists and DoesNotExist take no values",
                    "remedy": "leave values out, or set operator: In"
                  },
                  {
                    "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || self.key == \"collectorVersion\"",
                    "fieldPath": ".key",
                    "problem": "Lt, Lte, Gt and Gte compare only versions",
                    "remedy": "set key: collectorVersion, or operator: In"
                  },
                  {
                    "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || (has(self.values) && size(self.values) == 1 && self.values[0].matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\"))",
                    "problem": "Lt, Lte, Gt and Gte need exactly one version",
                    "remedy": "use the form MAJOR.MINOR-BUILD, for example values: [19.400-1]"
                  },
                  {
                    "rule": "!(self.key in [\"alive\", \"ephemeral\"]) || !has(self.values) || self.values.all(value, value in [\"true\", \"false\"])",
                    "fieldPath": ".values",
                    "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
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
                    "remedy": "use only fields of a collector: name, hostName, timeZone, ephemeral, sourceSyncMode, collectorType, collectorVersion, osName, osVersion, osArch, alive"
                  },
                  {
                    "rule": "self.all(key, !(key in [\"alive\", \"ephemeral\"]) || self[key] in [\"true\", \"false\"])",
                    "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
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
                      "problem": "In and NotIn need values",
                      "remedy": "set at least one value, for example values: [Linux]"
                    },
                    {
                      "rule": "!(self.operator in [\"Exists\", \"DoesNotExist\"]) || !has(self.values) || size(self.values) == 0",
                      "fieldPath": ".values",
                      "problem": "Exists and DoesNotExist take no values",
                      "remedy": "leave values out, or set operator: In"
                    },
                    {
                      "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || self.key == \"collectorVersion\"",
                      "fieldPath": ".key",
                      "problem": "Lt, Lte, Gt and Gte compare only versions",
                      "remedy": "set key: collectorVersion, or operator: In"
                    },
                    {
                      "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || (has(self.values) && size(self.values) == 1 && self.values[0].matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\"))",
                      "problem": "Lt, Lte, Gt and Gte need exactly one version",
                      "remedy": "use the form MAJOR.MINOR-BUILD, for example values: [19.400-1]"
                    },
                    {
                      "rule": "!(self.key in [\"alive\", \"ephemeral\"]) || !has(self.values) || self.values.all(value, value in [\"true\", \"false\"])",
                      "fieldPath": ".values",
                      "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
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
              "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
            },
            {
              "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"10s\") && duration(self) <= duration(\"24h\"))",
              "remedy": "use a duration from 10s to 24h"
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
                  "remedy": "use a number of collectors from 1 to 1000, or a percentage from 1% to 100%, for example 5%; to start no upgrades, set paused: true"
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
            },
            "stages": {
              "type": "array",
              "maxItems": 10,
              "x-kubernetes-list-map-keys": [
                "name"
              ],
              "example": [
                {
                  "name": "canary",
                  "size": "1%",
                  "soakDuration": "1h",
                  "maxFailures": 0
                },
                {
                  "name": "rest"
                }
              ],
              "items": {
                "type": "object",
                "required": [
                  "name"
                ],
                "properties": {
                  "name": {
                    "type": "string",
                    "example": "canary",
                    "maxLength": 63,
                    "x-kubernetes-validations": [
                      {
                        "rule": "self.matches(\"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$\")",
                        "remedy": "use lower-case letters, digits and '-', for example canary"
                      }
                    ]
                  },
                  "size": {
                    "x-kubernetes-int-or-string": true,
                    "maxLength": 16,
                    "example": "1%",
                    "x-kubernetes-validations": [
                      {
                        "rule": "type(self) == int ? (self >= 1 && self <= 1000000) : self.matches(\"^(100|[1-9][0-9]?)%$\")",
                        "remedy": "use a number of collectors from 1 to 1000000, or a percentage from 1% to 100%, for example 5%; for all remaining collectors, leave size out of the last stage"
                      }
                    ]
                  },
                  "selector": {
                    "type": "object",
                    "example": {
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
                            "remedy": "use only fields of a collector: name, hostName, timeZone, ephemeral, sourceSyncMode, collectorType, collectorVersion, osName, osVersion, osArch, alive"
                          },
                          {
                            "rule": "self.all(key, !(key in [\"alive\", \"ephemeral\"]) || self[key] in [\"true\", \"false\"])",
                            "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
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
                              "problem": "In and NotIn need values",
                              "remedy": "set at least one value, for example values: [Linux]"
                            },
                            {
                              "rule": "!(self.operator in [\"Exists\", \"DoesNotExist\"]) || !has(self.values) || size(self.values) == 0",
                              "fieldPath": ".values",
                              "problem": "Exists and DoesNotExist take no values",
                              "remedy": "leave values out, or set operator: In"
                            },
                            {
                              "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || self.key == \"collectorVersion\"",
                              "fieldPath": ".key",
                              "problem": "Lt, Lte, Gt and Gte compare only versions",
                              "remedy": "set key: collectorVersion, or operator: In"
                            },
                            {
                              "rule": "!(self.operator in [\"Lt\", \"Lte\", \"Gt\", \"Gte\"]) || (has(self.values) && size(self.values) == 1 && self.values[0].matches(\"^[0-9]{1,9}[.][0-9]{1,9}-[0-9]{1,9}$\"))",
                              "problem": "Lt, Lte, Gt and Gte need exactly one version",
                              "remedy": "use the form MAJOR.MINOR-BUILD, for example values: [19.400-1]"
                            },
                            {
                              "rule": "!(self.key in [\"alive\", \"ephemeral\"]) || !has(self.values) || self.values.all(value, value in [\"true\", \"false\"])",
                              "fieldPath": ".values",
                              "remedy": "use \"true\" or \"false\", in quotes, for alive and ephemeral"
                            }
                          ]
                        }
                      }
                    }
                  },
                  "maxInProgress": {
                    "x-kubernetes-int-or-string": true,
                    "maxLength": 16,
                    "example": 10,
                    "x-kubernetes-validations": [
                      {
                        "rule": "type(self) == int ? (self >= 1 && self <= 1000) : self.matches(\"^(100|[1-9][0-9]?)%$\")",
                        "remedy": "use a number of collectors from 1 to 1000, or a percentage from 1% to 100%, for example 5%; to start no upgrades, set paused: true"
                      }
                    ]
                  },
                  "maxFailures": {
                    "x-kubernetes-int-or-string": true,
                    "maxLength": 16,
                    "example": 0,
                    "x-kubernetes-validations": [
                      {
                        "rule": "type(self) == int ? (self >= 0 && self <= 1000000) : self.matches(\"^(100|[1-9]?[0-9])%$\")",
                        "remedy": "use a number of failures from 0 to 1000000, or a percentage from 0% to 100%, for example 2%"
                      }
                    ]
                  },
                  "soakDuration": {
                    "type": "string",
                    "maxLength": 16,
                    "default": "0s",
                    "x-kubernetes-validations": [
                      {
                        "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                        "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                      },
                      {
                        "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"0s\") && duration(self) <= duration(\"720h\"))",
                        "remedy": "use a duration from 0s to 720h"
                      }
                    ]
                  },
                  "approval": {
                    "type": "string",
                    "enum": [
                      "Required"
                    ]
                  },
                  "analysis": {
                    "type": "object",
                    "example": {
                      "messages": {
                        "minRatio": "50%",
                        "duration": "30m"
                      }
                    },
                    "required": [
                      "messages"
                    ],
                    "properties": {
                      "messages": {
                        "type": "object",
                        "properties": {
                          "minRatio": {
                            "type": "string",
                            "maxLength": 4,
                            "default": "50%",
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(\"^(100|[1-9][0-9]?)%$\")",
                                "remedy": "use a percentage from 1% to 100%, for example 50%"
                              }
                            ]
                          },
                          "duration": {
                            "type": "string",
                            "maxLength": 16,
                            "default": "30m",
                            "x-kubernetes-validations": [
                              {
                                "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                                "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                              },
                              {
                                "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"5s\") && duration(self) <= duration(\"24h\"))",
                                "remedy": "use a duration from 5s to 24h"
                              }
                            ]
                          },
                          "baseline": {
                            "type": "string",
                            "enum": [
                              "BeforeUpgrade",
                              "DayBefore",
                              "WeekBefore"
                            ],
                            "default": "BeforeUpgrade"
                          },
                          "minMessages": {
                            "type": "integer",
                            "format": "int64",
                            "minimum": 1,
                            "maximum": 1000000,
                            "default": 100
                          },
                          "scope": {
                            "type": "string",
                            "example": "_sourceCategory=prod/*",
                            "minLength": 1,
                            "maxLength": 1024,
                            "x-kubernetes-validations": [
                              {
                                "rule": "!self.contains(\"|\")",
                                "remedy": "use only search terms, without |, for example _sourceCategory=prod/*"
                              }
                            ]
                          }
                        }
                      }
                    }
                  }
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "!has(self.size) || !has(self.selector)",
                    "remedy": "set size or selector, but not both; to divide a selection, use two stages"
                  },
                  {
                    "rule": "!has(self.analysis) || !self.soakDuration.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || !self.analysis.messages.duration.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || duration(self.analysis.messages.duration) <= duration(self.soakDuration)",
                    "fieldPath": ".analysis.messages.duration",
                    "problem": "the analysis is longer than soakDuration",
                    "remedy": "use a longer soakDuration, for example 35m, or a shorter duration"
                  }
                ]
              },
              "x-kubernetes-validations": [
                {
                  "rule": "self.all(stage, has(stage.size) || has(stage.selector) || stage.name == self[size(self) - 1].name)",
                  "problem": "a stage with neither size nor selector takes all remaining collectors",
                  "remedy": "make it the last stage, or give it a size, for example size: 10%"
                }
              ]
            }
          }
        },
        "failurePolicy": {
          "type": "object",
          "example": {
            "maxFailures": "2%",
            "minSamples": 50,
            "action": "Pause"
          },
          "properties": {
            "maxFailures": {
              "x-kubernetes-int-or-string": true,
              "maxLength": 16,
              "example": "2%",
              "x-kubernetes-validations": [
                {
                  "rule": "type(self) == int ? (self >= 0 && self <= 1000000) : self.matches(\"^(100|[1-9]?[0-9])%$\")",
                  "remedy": "use a number of failures from 0 to 1000000, or a percentage from 0% to 100%, for example 2%"
                }
              ]
            },
            "minSamples": {
              "type": "integer",
              "format": "int32",
              "minimum": 1,
              "maximum": 1000000,
              "default": 1
            },
            "action": {
              "type": "string",
              "enum": [
                "Pause",
                "Rollback",
                "Continue"
              ],
              "default": "Pause"
            }
          }
        },
        "offlinePolicy": {
          "type": "string",
          "enum": [
            "Skip",
            "Wait"
          ],
          "default": "Skip"
        },
        "maintenance": {
          "type": "object",
          "example": {
            "windows": [
              {
                "schedule": "0 22 * * 1-5",
                "duration": "6h",
                "timeZone": "Europe/Berlin"
              }
            ]
          },
          "properties": {
            "windows": {
              "type": "array",
              "maxItems": 10,
              "items": {
                "type": "object",
                "required": [
                  "schedule",
                  "duration"
                ],
                "properties": {
                  "schedule": {
                    "type": "string",
                    "example": "0 22 * * 1-5",
                    "maxLength": 128,
                    "x-kubernetes-validations": [
                      {
                        "rule": "self.matches(\"^ *[^ ]+( +[^ ]+){4} *$\")",
                        "remedy": "use five fields: minute, hour, day of month, month, day of week, for example \"0 22 * * 1-5\""
                      },
                      {
                        "rule": "(\",\" + self.split(\" \").filter(field, field != \"\")[0]).matches( \"^(,([*?](/0?([1-9]|[1-5][0-9]|60))?|[0-5]?[0-9](-[0-5]?[0-9](/0?([1-9]|[1-5][0-9]|60))?)?))+$\")",
                        "problem": "the minute cannot be read",
                        "remedy": "use 0 to 59, for example 0, 15,45 or */10"
                      },
                      {
                        "rule": "(\",\" + self.split(\" \").filter(field, field != \"\")[1]).matches( \"^(,([*?](/0?([1-9]|1[0-9]|2[0-4]))?|([01]?[0-9]|2[0-3])(-([01]?[0-9]|2[0-3])\" + \"(/0?([1-9]|1[0-9]|2[0-4]))?)?))+$\")",
                        "problem": "the hour cannot be read",
                        "remedy": "use 0 to 23, for example 22, 8-17 or */2"
                      },
                      {
                        "rule": "(\",\" + self.split(\" \").filter(field, field != \"\")[2]).matches( \"^(,[Ll][Ww]|(,([*?](/(0?[1-9]|[12][0-9]|3[01]))?|(0?[1-9]|[12][0-9]|3[01])\" + \"(-(0?[1-9]|[12][0-9]|3[01])(/(0?[1-9]|[12][0-9]|3[01]))?)?|\" + \"(0?[1-9]|[12][0-9]|3[01])[Ww]|[Ll]))+)$\")",
                        "problem": "the day of month cannot be read",
                        "remedy": "use 1 to 31, for example 1, 1-7 or L for the last day"
                      },
                      {
                        "rule": "(\",\" + self.split(\" \").filter(field, field != \"\")[3]).matches( \"^(,([*?](/(0?[1-9]|1[0-2]))?|(0?[1-9]|1[0-2]|\" + \"(?i:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC))(-(0?[1-9]|1[0-2]|\" + \"(?i:JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC))(/(0?[1-9]|1[0-2]))?)?))+$\")",
                        "problem": "the month cannot be read",
                        "remedy": "use 1 to 12, for example 6, 1-11 or MAR,SEP"
                      },
                      {
                        "rule": "(\",\" + self.split(\" \").filter(field, field != \"\")[4]).matches( \"^(,([*?](/0?[1-7])?|(0?[0-7]|(?i:SUN|MON|TUE|WED|THU|FRI|SAT))((-(0?[0-7]|\" + \"(?i:SUN|MON|TUE|WED|THU|FRI|SAT)))?(#[1-5Ll])?|-(0?[0-7]|\" + \"(?i:SUN|MON|TUE|WED|THU|FRI|SAT))/0?[1-7]|[Ll])))+$\")",
                        "problem": "the day of week cannot be read",
                        "remedy": "use 0 (Sunday) to 6, for example 1-5, SAT,SUN or 2#1 for the first Tuesday"
                      },
                      {
                        "rule": "self.findAll(\"[0-9]+-[0-9]+\").all(range, int(range.split(\"-\")[0]) <= int(range.split(\"-\")[1]))",
                        "problem": "a range runs backwards",
                        "remedy": "split it in two, for example 22-23,0-5"
                      }
                    ]
                  },
                  "duration": {
                    "type": "string",
                    "example": "6h",
                    "maxLength": 16,
                    "x-kubernetes-validations": [
                      {
                        "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                        "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                      },
                      {
                        "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"1m\") && duration(self) <= duration(\"168h\"))",
                        "remedy": "use a duration from 1m to 168h"
                      }
                    ]
                  },
                  "timeZone": {
                    "type": "string",
                    "example": "Europe/Berlin",
                    "minLength": 1,
                    "maxLength": 64,
                    "x-kubernetes-validations": [
                      {
                        "rule": "self.matches(\"^[A-Z][A-Za-z0-9_+/-]*$\") && self != \"Local\" && timestamp(\"2000-01-01T00:00:00Z\").getHours(self) >= 0",
                        "remedy": "use a time zone from the IANA database, for example Europe/Berlin"
                      }
                    ]
                  },
                  "timeZoneSource": {
                    "type": "string",
                    "enum": [
                      "Collector"
                    ]
                  }
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "!has(self.timeZone) || !has(self.timeZoneSource)",
                    "remedy": "set timeZone, for example to Europe/Berlin, or timeZoneSource: Collector, but not both"
                  }
                ]
              }
            },
            "exclusions": {
              "type": "array",
              "maxItems": 50,
              "x-kubernetes-list-map-keys": [
                "name"
              ],
              "items": {
                "type": "object",
                "required": [
                  "name",
                  "startTime",
                  "endTime"
                ],
                "properties": {
                  "name": {
                    "type": "string",
                    "example": "year end",
                    "minLength": 1,
                    "maxLength": 63
                  },
                  "startTime": {
                    "type": "string",
                    "format": "date-time",
                    "example": "2026-12-20T00:00:00Z"
                  },
                  "endTime": {
                    "type": "string",
                    "format": "date-time",
                    "example": "2027-01-03T00:00:00Z"
                  }
                },
                "x-kubernetes-validations": [
                  {
                    "rule": "timestamp(self.startTime) < timestamp(self.endTime)",
                    "fieldPath": ".endTime",
                    "problem": "ends before it begins",
                    "remedy": "set an endTime after startTime"
                  }
                ]
              }
            },
            "cutoff": {
              "type": "string",
              "maxLength": 16,
              "default": "30m",
              "x-kubernetes-validations": [
                {
                  "rule": "self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\")",
                  "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                },
                {
                  "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"0s\") && duration(self) <= duration(\"24h\"))",
                  "remedy": "use a duration from 0s to 24h"
                }
              ]
            }
          },
          "x-kubernetes-validations": [
            {
              "rule": "!has(self.windows) || !self.cutoff.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || self.windows.all(window, !window.duration.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || duration(window.duration) > duration(self.cutoff))",
              "fieldPath": ".windows",
              "problem": "a window is not longer than cutoff (default 30m), so no upgrade could start in it",
              "remedy": "use a longer duration"
            }
          ]
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
                      "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                    },
                    {
                      "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"1s\") && duration(self) <= duration(\"24h\"))",
                      "remedy": "use a duration from 1s to 24h"
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
                      "remedy": "use a duration in hours, minutes and seconds, for example 30s, 5m or 1h30m"
                    },
                    {
                      "rule": "!self.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || (duration(self) >= duration(\"1s\") && duration(self) <= duration(\"24h\"))",
                      "remedy": "use a duration from 1s to 24h"
                    }
                  ]
                }
              },
              "x-kubernetes-validations": [
                {
                  "rule": "!self.duration.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || !self.cap.matches(\"^([0-9]{1,6}([.][0-9]{1,3})?(h|m|s|ms))+$\") || duration(self.cap) >= duration(self.duration)",
                  "fieldPath": ".cap",
                  "problem": "cap is shorter than duration",
                  "remedy": "use a cap (default 1h) that is at least as long"
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
