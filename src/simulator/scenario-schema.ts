/**
 * The JSON Schema of a scenario: `scenario.ts` for documents from outside. Unknown members are refused, so that a slip of the
 * pen is an answer and never a silent default.
 */
import { faultKinds, omittableMembers, operations } from './scenario.ts';

/** `description` is what an error tells the reader to write. */
const text = { type: 'string', minLength: 1, description: 'a text' } as const;
const anyText = { type: 'string', description: 'a text' } as const;
const flag = { type: 'boolean', description: 'true or false' } as const;
const count = { type: 'integer', minimum: 0, description: 'a whole number from 0 on' } as const;
const positive = { type: 'integer', minimum: 1, description: 'a whole number from 1 on' } as const;
const whole = { type: 'integer', description: 'a whole number' } as const;
const share = { type: 'number', minimum: 0, maximum: 1, description: 'a number from 0 to 1' } as const;
const duration = { type: 'string', format: 'duration', description: 'a duration, as in 90s, 3m or 1h30m' } as const;
const aboveZero = { type: 'number', exclusiveMinimum: 0, description: 'a number above 0' } as const;
const version = { type: 'string', description: 'a version, as in 19.500-1' } as const;
const id = {
  anyOf: [
    { type: 'integer', minimum: 1 },
    { type: 'string', pattern: '^[1-9][0-9]{0,18}$' },
  ],
  description: "a positive 64-bit number, in quotes past 2^53, as in '9007199254740993'",
} as const;
const durationRange = {
  anyOf: [duration, { type: 'array', items: duration, minItems: 2, maxItems: 2 }],
  description: 'a duration, as in 3m, or two for from and to, as in [2m, 4m]',
} as const;

const oneOf = (...values: readonly string[]) => ({ enum: values, description: `one of ${values.join(', ')}` });
const listOf = (items: object) => ({ type: 'array', items, description: 'a list' });
const mapOf = (values: object) => ({ type: 'object', additionalProperties: values, description: 'a map by name' });
const object = (properties: Readonly<Record<string, object>>, ...required: readonly string[]) => ({
  type: 'object',
  additionalProperties: false,
  properties,
  required,
  description: `a map with members among ${Object.keys(properties).join(', ')}`,
});

const outcome = object(
  {
    share,
    end: oneOf('succeed', 'fail', 'hang'),
    message: anyText,
    status: whole,
    duration: durationRange,
    attempts: positive,
  },
  'end',
);

const upgrade = object({
  duration: durationRange,
  increments: positive,
  notStartedFor: duration,
  pendingFor: duration,
  timeout: duration,
  lockDelay: duration,
  lockUntil: oneOf('end', 'timeout'),
  toRunningVersion: oneOf('accept', 'refuse'),
  withoutVersion: oneOf('latest', 'refuse'),
  progressingStatus: whole,
  outcomes: listOf(outcome),
});

const traits = {
  version,
  hostName: text,
  timeZone: text,
  ephemeral: flag,
  sourceSyncMode: text,
  collectorType: text,
  osName: text,
  osVersion: text,
  osArch: text,
  running: flag,
  silentFor: duration,
  absent: flag,
  omit: listOf(oneOf(...omittableMembers)),
  upgrade,
} as const;

const fault = object(
  {
    kind: oneOf(...faultKinds),
    effect: flag,
    operations: listOf(oneOf(...operations)),
    users: listOf(text),
    collectors: listOf(text),
    probability: share,
    nth: listOf(positive),
    times: count,
    from: duration,
    until: duration,
    delay: durationRange,
    bytesPerSecond: aboveZero,
    status: { type: 'integer', minimum: 200, maximum: 599, description: 'an HTTP status from 200 to 599' },
    code: text,
    message: anyText,
    body: oneOf('error', 'html', 'empty'),
    retryAfter: { anyOf: [count, text], description: 'seconds, or an HTTP date' },
    to: {
      type: 'string',
      pattern: '^(https?://|/)',
      description: 'a path, as in /eu/api, or an address, as in https://host/api',
    },
    lag: duration,
  },
  'kind',
);

const faultNeeds = (kind: string, member: string) => ({
  if: { properties: { kind: { const: kind } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: the word of JSON Schema.
  then: { required: [member] },
});

export const scenarioSchema = object({
  seed: whole,
  timeScale: aboveZero,
  basePaths: {
    ...listOf({ type: 'string', pattern: '^(/[A-Za-z0-9._~-]+)+$', description: 'a path, as in /api' }),
    minItems: 1,
  },
  users: mapOf(
    object(
      {
        keys: mapOf(text),
        forbidden: {
          anyOf: [flag, listOf(oneOf(...operations))],
          description: `true, or a list of ${operations.join(', ')}`,
        },
        groups: listOf(text),
      },
      'keys',
    ),
  ),
  builds: listOf({
    anyOf: [text, object({ version: text, latest: flag }, 'version')],
    description: 'a version, as in 19.500-1, or {version: 19.500-1, latest: true}',
  }),
  ids: object({ firstCollector: id, firstTask: id }),
  groups: mapOf(object({ ...traits, count, name: text, versions: { ...listOf(version), minItems: 1 } }, 'count')),
  collectors: mapOf(object(traits)),
  upgrade,
  list: object({
    atTarget: flag,
    hosted: flag,
    maxLimit: positive,
    aboveMaxLimit: oneOf('cut', 'refuse'),
    order: oneOf('id', 'name', 'version', 'shuffled'),
    lag: duration,
  }),
  task: object({
    requestTimeUnit: oneOf('ms', 's'),
    requestTimeMember: oneOf('requestTime', 'requestedTime'),
    omit: listOf(oneOf('requestTime', 'message', 'toVersion', 'collectorId')),
  }),
  limits: object({
    requestsPerSecond: count,
    concurrentRequests: count,
    retryAfter: count,
    countRefused: flag,
  }),
  errors: object({ shape: oneOf('object', 'list', 'html', 'empty'), codePrefix: anyText }),
  latency: durationRange,
  aliveFor: duration,
  faults: mapOf({
    ...fault,
    allOf: [faultNeeds('status', 'status'), faultNeeds('redirect', 'to'), faultNeeds('lag', 'lag')],
  }),
  events: mapOf(
    object({
      at: duration,
      collectors: listOf(text),
      upgrade: object({ toVersion: text, duration }, 'toVersion'),
      setVersion: version,
      patch: { type: 'object', description: 'a merge patch on the scenario' },
    }),
  ),
});
