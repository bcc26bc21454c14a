/** Tests a policy's condition after each user error, and after its correction. */
import { describe, expect, test } from 'vitest';
import type { FaultScenario, Scenario } from '../../../simulator/scenario/scenario.ts';
import { hourMs, minuteMs } from '../../../src/base/time-units.ts';
import { serviceOrigin } from '../../support/service-world.ts';
import { busiest, policiesPath, secretsPath, World } from '../../support/world.ts';

const scenario: Scenario = {
  builds: ['19.361-20', '19.400-1', '19.500-1'],
  groups: { web: { count: 3, version: '19.400-1' } },
};

interface Mistake {
  readonly name: string;
  readonly reason: string;
  /**
   * Pattern for the cause of the error in the message of the `Ready` condition, such as the name of a key in the
   * Secret.
   */
  readonly names: RegExp;
  readonly stalls: boolean;
  /** Content of the Secret if it is wrong, or `missing` if there is no Secret. */
  readonly secret?: Readonly<Record<string, string>> | 'missing';
  readonly spec?: object;
  readonly fault?: FaultScenario;
  readonly requestsPerHour: number;
}

/** Maximum number of requests per hour if the operator repeats a failed request every 30 s. */
const everyHalfMinute = 2 * 120 + 10;
/** Maximum number of requests per hour if the operator repeats a failed request every minute. */
const everyMinute = 3 * 60 + 30;
/**
 * Maximum number of requests per hour while no upgrades are running. The operator reads the builds and the collectors
 * 12 or 13 times (U9).
 */
const everyResync = (1 + 1 + 1 + 1) * (12 + 1);

const mistakes: readonly Mistake[] = [
  {
    name: 'a Secret that does not exist',
    secret: 'missing',
    reason: 'SecretNotFound',
    names: /Secret logging\/log-service /,
    stalls: true,
    requestsPerHour: 0,
  },
  {
    name: 'a half-filled Secret',
    secret: { accessId: '', accessKey: ' ' },
    reason: 'SecretIncomplete',
    names: /accessId and accessKey/,
    stalls: true,
    requestsPerHour: 0,
  },
  {
    name: 'an address that is not https',
    secret: { baseURL: 'http://logs.example.com/api' },
    reason: 'AddressInvalid',
    names: /Secret logging\/log-service: baseURL /,
    stalls: true,
    requestsPerHour: 0,
  },
  {
    name: 'a certificate authority that is not a certificate',
    secret: { 'ca.crt': 'my-ca' },
    reason: 'SecretInvalid',
    names: /Secret logging\/log-service: ca\.crt /,
    stalls: true,
    requestsPerHour: 0,
  },
  {
    name: 'a wrong key',
    secret: { accessKey: 'wrong' },
    reason: 'Unauthorized',
    names: /401.* accessId and accessKey/,
    stalls: true,
    requestsPerHour: everyHalfMinute,
  },
  {
    name: 'an address without the path of the service',
    secret: { baseURL: `${serviceOrigin}/somewhere` },
    reason: 'AddressInvalid',
    names: /404.* baseURL /,
    stalls: true,
    requestsPerHour: everyHalfMinute,
  },
  {
    name: 'a host name that does not exist',
    secret: { baseURL: 'https://elsewhere.example.com/api' },
    reason: 'ServiceUnreachable',
    names: /elsewhere\.example\.com.* baseURL /,
    stalls: false,
    requestsPerHour: 0,
  },
  {
    name: 'a host that does not respond',
    fault: { kind: 'stall' },
    reason: 'ServiceUnreachable',
    names: /was not answered in time/,
    stalls: false,
    requestsPerHour: everyMinute,
  },
  {
    name: 'a service that resets every connection',
    fault: { kind: 'reset' },
    reason: 'ServiceUnreachable',
    names: /connection was lost/,
    stalls: false,
    requestsPerHour: everyMinute,
  },
  {
    name: 'a service that moved to a host that the Secret does not allow',
    fault: { kind: 'redirect', to: 'https://moved.example.com/api' },
    reason: 'RedirectNotAllowed',
    names: /moved\.example\.com.* baseURL .* allowedHosts/,
    stalls: true,
    requestsPerHour: everyHalfMinute,
  },
  {
    name: 'an account without the permission',
    fault: { kind: 'status', status: 403 },
    reason: 'Forbidden',
    names: /403/,
    stalls: true,
    requestsPerHour: everyHalfMinute,
  },
  {
    name: 'a version that the service does not offer',
    spec: { target: { version: '19.999-9' } },
    reason: 'VersionNotOffered',
    names: /19\.999-9.* 19\.361-20, 19\.400-1, 19\.500-1 .* spec\.target\.version/,
    stalls: true,
    requestsPerHour: everyHalfMinute,
  },
  {
    name: 'a selector that matches nothing',
    spec: { selector: { matchNames: ['wbe-*'] } },
    reason: 'NoCollectorsMatched',
    names: /spec\.selector/,
    stalls: true,
    requestsPerHour: everyResync,
  },
];

const policyPath = `${policiesPath}/production`;
const right = { target: { version: '19.500-1' }, selector: {} };

function begin({ secret, spec, fault }: Mistake): World {
  const world = new World({ scenario: { ...scenario, ...(fault && { faults: { trouble: fault } }) } });
  if (secret !== 'missing') world.addSecret('log-service', secret);
  world.addPolicy('production', { ...right, ...spec });
  world.start();
  return world;
}

function mend(world: World, { secret, spec, fault }: Mistake): void {
  if (secret !== undefined) {
    if (secret !== 'missing') world.api.remove(`${secretsPath}/log-service`);
    world.addSecret();
  }
  if (spec) world.api.patch(policyPath, { spec: { ...right, selector: { matchNames: null } } });
  if (fault) world.model.patch({ faults: { trouble: null } }, world.clock.now());
}

function condition(world: World, name: string) {
  return world.policy('production')?.status?.conditions?.find(({ type }) => type === name);
}

describe.each(mistakes)('$name', (mistake) => {
  test('is reported with a remedy, causes few requests, and recovers without a restart', async () => {
    const world = begin(mistake);
    expect(await world.until(() => world.ready('production')?.reason === mistake.reason, 5 * minuteMs)).toBe(true);
    expect(world.ready('production')?.message).toMatch(mistake.names);
    expect(condition(world, mistake.stalls ? 'Stalled' : 'Reconciling')?.status).toBe('True');
    expect(condition(world, mistake.stalls ? 'Reconciling' : 'Stalled')).toBe(undefined);

    const before = world.journal.length;
    await world.until(() => false, hourMs);
    expect(world.journal.length - before).toBeLessThanOrEqual(mistake.requestsPerHour);
    expect(world.ready('production')?.reason).toBe(mistake.reason);
    expect(world.journal.filter(({ method }) => method === 'POST')).toEqual([]);

    mend(world, mistake);
    expect(await world.until(() => world.ready('production')?.reason === 'RollingOut', 3 * minuteMs)).toBe(true);
    expect(await world.until(() => world.ready('production')?.reason === 'AllUpdated', 20 * minuteMs)).toBe(true);
    expect(condition(world, 'Stalled')).toBe(undefined);
    expect(busiest(world.journal).perSecond).toBeLessThanOrEqual(4);
    for (const replica of [...world.replicas]) replica.kill();
  });
});
