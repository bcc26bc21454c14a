/**
 * Records since when a policy has seen each build offered. `minAge` counts from there, and the time cannot be observed again.
 * Stored in a shard of its own beside the ledger (U1), which the ledger neither reads nor writes.
 *
 * Invariants: a time that is not certain counts from now, so a build is rolled out too late rather than too early. This applies:
 * - to a build that one list omits and a later list has again, because it may have been replaced;
 * - to all builds when the shard is lost, unreadable or of another service;
 * - to a build whose recorded time lies in the future.
 *
 * Ages count only after they were written. An empty list does not prove that every build was withdrawn.
 *
 * The shard is written when a build appears or disappears. It holds the 100 newest builds, candidates of the policy first.
 */
import type { LedgerStore, OwnerRef } from '../../host/host.ts';
import type { Build } from '../../service/collectors/upgrade-service.ts';
import { newestFirst } from './target.ts';

const shard = 'builds';
const maxBuilds = 100;
const formatVersion = 1;

interface StoredBuilds {
  readonly format: number;
  /** The service that offers the builds. */
  readonly service: string;
  /** Versions, each with the wall ms since which it has been seen. */
  readonly seen: readonly (readonly [string, number])[];
}

/** Recorded builds of one service. */
interface Known {
  readonly service: string;
  readonly seenSinceMs: ReadonlyMap<string, number>;
}

export interface OfferedBuilds {
  readonly service: string;
  readonly builds: readonly Build[];
  /** Whether the policy may choose a version. These builds are kept before others. */
  readonly isCandidate: (version: string) => boolean;
  readonly wallMs: number;
}

export class SeenBuilds {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  /** Undefined while the shard is unread, or after a write without a known result. */
  #known: Known | undefined;
  #version: string | undefined;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /**
   * Times since which each build of the list has been seen; written before they are returned. Fails when the ledger store fails.
   */
  async look({ service, builds, isCandidate, wallMs }: OfferedBuilds): Promise<ReadonlyMap<string, number>> {
    this.#known ??= await this.#read();
    const before = this.#known.service === service ? this.#known.seenSinceMs : new Map<string, number>();
    if (builds.length === 0) return before;
    const seenSinceMs = new Map<string, number>();
    for (const version of kept(builds, isCandidate)) {
      seenSinceMs.set(version, Math.min(before.get(version) ?? wallMs, wallMs));
    }
    if (!sameAges(before, seenSinceMs)) await this.#write({ service, seenSinceMs });
    return seenSinceMs;
  }

  async #read(): Promise<Known> {
    const stored = await this.#store.read(this.#owner, shard);
    this.#version = stored?.version;
    return decode(stored?.content);
  }

  async #write(known: Known): Promise<void> {
    const { service, seenSinceMs } = known;
    const content: StoredBuilds = { format: formatVersion, service, seen: [...seenSinceMs] };
    this.#known = undefined;
    const summary = `${seenSinceMs.size} builds with the time since which each is offered`;
    this.#version = await this.#store.write(this.#owner, shard, JSON.stringify(content), this.#version, summary);
    this.#known = known;
  }
}

/** The versions to keep: the newest, candidates before others. */
function kept(builds: readonly Build[], isCandidate: (version: string) => boolean): readonly string[] {
  const latest = builds.filter((build) => build.latest).map(({ version }) => version);
  const ordered = newestFirst(builds.map(({ version }) => version));
  const candidates = ordered.filter(isCandidate);
  const others = ordered.filter((version) => !isCandidate(version));
  return [...new Set([...latest, ...candidates, ...others])].slice(0, maxBuilds);
}

function sameAges(left: ReadonlyMap<string, number>, right: ReadonlyMap<string, number>): boolean {
  return left.size === right.size && [...right].every(([version, sinceMs]) => left.get(version) === sinceMs);
}

/** Unreadable content is ignored and overwritten, because starting again is safe. */
function decode(content: string | undefined): Known {
  const nothing: Known = { service: '', seenSinceMs: new Map() };
  let stored: unknown;
  try {
    stored = JSON.parse(content ?? 'null');
  } catch {
    return nothing;
  }
  return isStored(stored) ? { service: stored.service, seenSinceMs: new Map(stored.seen) } : nothing;
}

function isStored(stored: unknown): stored is StoredBuilds {
  const { format, service, seen } = (stored ?? {}) as Partial<StoredBuilds>;
  if (format !== formatVersion || typeof service !== 'string' || !Array.isArray(seen)) return false;
  return seen.every((entry) => Array.isArray(entry) && typeof entry[0] === 'string' && Number.isSafeInteger(entry[1]));
}
