/** The JSON Schema for scenarios. It rejects unknown properties, to detect misspelled names. */

import { logSchema } from './log-scenario.ts';
import { faultKinds, maxGroupCount, maxMessagesPerMinute, omittableMembers, operations } from './scenario.ts';
import {
  aboveZero,
  anyText,
  count,
  duration,
  durationRange,
  flag,
  id,
  listOf,
  mapOf,
  object,
  oneOf,
  positive,
  share,
  text,
  version,
  whole,
} from './schema-parts.ts';
import { searchSchema } from './search-scenario.ts';

const members = { ...count, maximum: maxGroupCount, description: `a whole number from 0 to ${maxGroupCount}` } as const;

const outcome = object(
  {
    share,
    end: oneOf('succeed', 'fail', 'hang'),
    message: anyText,
    status: whole,
    duration: durationRange,
    attempts: positive,
    toVersion: version,
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

const collectorProperties = {
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
  messagesPerMinute: {
    type: 'number',
    minimum: 0,
    maximum: maxMessagesPerMinute,
    description: `a number from 0 to ${maxMessagesPerMinute}`,
  },
  dailyRhythm: share,
  sourceCategory: text,
} as const;

const faultMembers = {
  kind: oneOf(...faultKinds),
  effect: flag,
  operations: listOf(oneOf(...operations)),
  users: listOf(text),
  collectors: listOf(text),
  queries: listOf(text),
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
  retryAfter: { anyOf: [count, text], description: 'a number of seconds, or an HTTP date' },
  to: {
    type: 'string',
    pattern: '^(https?://|/)',
    description: 'a path, such as /eu/api, or an address, such as https://host/api',
  },
  lag: duration,
  state: text,
  rows: count,
} as const;

const fault = object(faultMembers, 'kind');

const faultNeeds = (kind: string, member: keyof typeof faultMembers) => ({
  if: { properties: { kind: { const: kind } }, required: ['kind'] },
  // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema.
  then: { required: [member], description: faultMembers[member].description },
});

export const scenarioSchema = object({
  seed: whole,
  timeScale: aboveZero,
  basePaths: {
    ...listOf({ type: 'string', pattern: '^(/[A-Za-z0-9._~-]+)+$', description: 'a path, such as /api' }),
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
        organisation: text,
      },
      'keys',
    ),
  ),
  organisations: mapOf(object({ activeJobs: count })),
  builds: listOf({
    anyOf: [text, object({ version: text, latest: flag, stopsShipping: share, drops: share }, 'version')],
    description: 'a version, such as 19.500-1, or {version: 19.500-1, latest: true}',
  }),
  ids: object({ firstCollector: id, firstTask: id }),
  groups: mapOf(
    object(
      { ...collectorProperties, count: members, name: text, versions: { ...listOf(version), minItems: 1 } },
      'count',
    ),
  ),
  collectors: mapOf(object(collectorProperties)),
  upgrade,
  search: searchSchema,
  logs: logSchema,
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
    omit: listOf(oneOf('requestTime', 'message')),
  }),
  limits: object({
    requestsPerSecond: count,
    concurrentRequests: count,
    activeJobs: count,
    retryAfter: count,
    countRefused: flag,
  }),
  errors: object({ shape: oneOf('object', 'list', 'html', 'empty'), codePrefix: anyText, searchCodePrefix: anyText }),
  latency: durationRange,
  aliveFor: duration,
  faults: mapOf({
    ...fault,
    allOf: [
      faultNeeds('status', 'status'),
      faultNeeds('redirect', 'to'),
      faultNeeds('lag', 'lag'),
      faultNeeds('unknownState', 'state'),
    ],
  }),
  events: mapOf(
    object({
      at: duration,
      collectors: listOf(text),
      upgrade: object({ toVersion: text, duration }, 'toVersion'),
      setVersion: version,
      patch: { type: 'object', description: 'a merge patch for the scenario' },
    }),
  ),
});
