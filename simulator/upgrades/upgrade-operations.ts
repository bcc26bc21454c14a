/** The four operations on collectors (sections 4.6 to 4.9 of docs/service.md). */
import { isRecord } from '../../src/base/record.ts';
import { decimalId, parseLosslessJson, shownJson } from '../base/lossless-json.ts';
import type { SimulatedFleet } from '../collectors/fleet.ts';
import { type CollectorLists, maySee } from '../collectors/listing.ts';
import { type CallResult, refuse, type ServiceCall } from '../requests/call.ts';
import { jsonResponse } from '../requests/response.ts';
import type { Settings } from '../scenario/settings.ts';
import { renderTask } from './upgrade-task.ts';
import { settingsFor, type Upgrades } from './upgrades.ts';

export interface TaskDefinition {
  /** Collector id in decimal digits, or undefined if the request does not name a collector. */
  readonly collectorId: string | undefined;
  /**
   * Requested target version, or undefined if the request does not set one. `invalid` contains a value that is not a
   * string.
   */
  readonly toVersion: string | undefined | { readonly invalid: string };
}

export class UpgradeOperations {
  readonly #fleet: SimulatedFleet;
  readonly #upgrades: Upgrades;
  readonly #listing: CollectorLists;

  constructor(fleet: SimulatedFleet, upgrades: Upgrades, listing: CollectorLists) {
    this.#fleet = fleet;
    this.#upgrades = upgrades;
    this.#listing = listing;
  }

  listCollectors({ key, settings, query, atMs, fault }: ServiceCall): CallResult {
    const offset = wholeNumber(query.get('offset'), 0);
    if (offset === undefined) return badParameter('offset', query, 'a whole number, at least 0');
    const limit = wholeNumber(query.get('limit'), 50);
    if (limit === undefined || limit === 0) return badParameter('limit', query, 'a whole number, at least 1');
    const { maxLimit, aboveMaxLimit } = settings.list;
    if (limit > maxLimit && aboveMaxLimit === 'refuse') {
      return badParameter('limit', query, `a whole number up to ${maxLimit}`);
    }
    const toVersion = query.get('toVersion') ?? settings.latestVersion;
    if (toVersion === undefined || !isOffered(toVersion, settings)) return unknownVersion(toVersion, settings);
    const page = { toVersion, offset, limit: Math.min(limit, maxLimit) };
    const lagMs = Math.max(fault?.lagMs ?? 0, settings.list.lagMs);
    return jsonResponse(200, this.#listing.page(page, key, settings, atMs - lagMs));
  }

  listBuilds({ settings }: ServiceCall): CallResult {
    return jsonResponse(200, JSON.stringify({ targets: settings.builds }));
  }

  /** Returns an upgrade task (section 4.8 of docs/service.md). */
  getTask(taskId: string, { key, settings, atMs }: ServiceCall): CallResult {
    const task = this.#upgrades.get(taskId);
    if (!task || !maySee(key, task.collector)) {
      return refuse(404, 'notfound', `There is no upgrade task ${taskId}.`);
    }
    return jsonResponse(200, renderTask(task, atMs, settings.task));
  }

  /** Creates an upgrade task. `definition` is undefined if the body is not a JSON object. */
  createTask(definition: TaskDefinition | undefined, { key, settings, atMs }: ServiceCall): CallResult {
    if (!definition) return refuse(400, 'body.invalid', 'The body is not a JSON object in UTF-8.');
    const collector = definition.collectorId === undefined ? undefined : this.#fleet.byId(definition.collectorId);
    if (!collector?.now.present || !maySee(key, collector)) {
      const which =
        definition.collectorId === undefined
          ? 'collectorId is missing or not an id'
          : `${definition.collectorId} is unknown`;
      return refuse(
        400,
        'collector.invalid',
        `The collector does not exist, or you are not permitted to see it: ${which}.`,
      );
    }
    if (collector.hosted) {
      return refuse(
        400,
        'collector.type.invalid',
        `Collector ${collector.name} is hosted; only installed collectors can be upgraded.`,
      );
    }
    if (!collector.isAlive(collector.now, atMs, settings.aliveForMs)) {
      return refuse(400, 'collector.not.alive', `Collector ${collector.name} is not running.`);
    }
    if (this.#upgrades.isLocked(collector, atMs)) {
      return refuse(400, 'collector.in.upgrading', `Collector ${collector.name} is already being upgraded.`);
    }
    const upgrade = settingsFor(collector, settings.upgrade);
    const asked = definition.toVersion;
    if (typeof asked === 'object') return unknownVersion(asked.invalid, settings);
    const toVersion = asked ?? (upgrade.withoutVersion === 'latest' ? settings.latestVersion : undefined);
    if (toVersion === undefined || !isOffered(toVersion, settings)) return unknownVersion(toVersion, settings);
    if (toVersion === collector.now.version && upgrade.toRunningVersion === 'refuse') {
      return refuse(400, 'collector.version.invalid', `Collector ${collector.name} already runs ${toVersion}.`);
    }
    const task = this.#upgrades.start({ collector, toVersion }, settings, atMs);
    const link = { rel: 'self', href: `/v1/collectors/upgrades/${task.id}` };
    return { ...jsonResponse(202, JSON.stringify({ id: task.id, link })), taskId: task.id };
  }
}

/** Reads the request body for an upgrade task. Returns undefined if the body is not a JSON object. */
export function readTaskDefinition(body: string): TaskDefinition | undefined {
  let value: unknown;
  try {
    value = parseLosslessJson(body);
  } catch {
    return undefined;
  }
  if (!isRecord(value)) return undefined;
  const { collectorId, toVersion } = value;
  return {
    collectorId: decimalId(collectorId),
    toVersion:
      toVersion === null || toVersion === undefined || typeof toVersion === 'string'
        ? (toVersion ?? undefined)
        : { invalid: shownJson(toVersion) },
  };
}

function isOffered(version: string, settings: Settings): boolean {
  return settings.builds.some((build) => build.version === version);
}

/**
 * Reads a number from a query parameter. Returns `fallback` if the parameter is absent, and undefined if it is invalid.
 */
function wholeNumber(text: string | null, fallback: number): number | undefined {
  if (text === null) return fallback;
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

function badParameter(name: string, query: URLSearchParams, wanted: string): CallResult {
  return refuse(
    400,
    'parameter.invalid',
    `Parameter ${name} is ${JSON.stringify(query.get(name))}; it must be ${wanted}.`,
  );
}

function unknownVersion(version: string | undefined, settings: Settings): CallResult {
  const builds = settings.builds.map((build) => build.version).join(', ');
  const what = version === undefined ? 'No version was specified.' : `There is no build ${version}.`;
  return refuse(400, 'collector.version.invalid', `${what} Available builds: ${builds || 'none'}.`);
}
