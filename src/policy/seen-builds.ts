/**
 * Since when a policy has seen each build offered: what `minAge` counts from, and what cannot be observed again. Kept in a shard
 * of its own beside the ledger (U1), which the ledger neither reads nor writes.
 *
 * Invariants: what is not known for sure counts from now, so that a build is rolled out later than it might be and never earlier.
 * So does a build that one list leaves out and a later one has again, since what was withdrawn may come back as another; all of them where
 * the shard is lost, unreadable or of another service (ids and ages of that one are void); and one that the clock says was seen in
 * the future. Ages count only once they are written. An empty list is no evidence that every build was withdrawn.
 *
 * The shard is written when a build is new or gone, and has the 100 newest, those that the policy may choose first.
 */
import type { LedgerStore, OwnerRef } from '../host/host.ts';
import type { Build } from '../service/upgrade-service.ts';
import { newestFirst } from './target.ts';

const shard = 'builds';
const maxBuilds = 100;
const formatVersion = 1;

interface StoredBuilds {
  readonly format: number;
  /** The service that offers them. */
  readonly service: string;
  /** Versions with the wall time, in milliseconds, since which they have been seen. */
  readonly seen: readonly (readonly [string, number])[];
}

/** What is known of one service. */
interface Known {
  readonly service: string;
  readonly seenSinceMs: ReadonlyMap<string, number>;
}

export interface BuildsLook {
  readonly service: string;
  readonly builds: readonly Build[];
  /** Whether the policy may choose a version: such builds are kept before others. */
  readonly isCandidate: (version: string) => boolean;
  readonly wallMs: number;
}

export class SeenBuilds {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  /** Undefined while the shard is unread, or after a write whose end is not known. */
  #known: Known | undefined;
  #version: string | undefined;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /** Since when each build of the list has been seen; written down before it is told. Fails as the host's ledgers do. */
  async look({ service, builds, isCandidate, wallMs }: BuildsLook): Promise<ReadonlyMap<string, number>> {
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

/** The versions that are kept: the newest, candidates before others. */
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

/** What is no content of ours says nothing, and is written over: to begin anew is safe. */
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
