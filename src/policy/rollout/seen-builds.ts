/**
 * Records when the service first offered each build. The age of a build (`minAge`) counts from this time (U1).
 *
 * If this time is uncertain, the age counts from now, so that no build is rolled out too early. The time is uncertain:
 * - for a build that was missing from one list, because the service may have replaced the build;
 * - for all builds when the stored times are lost, unreadable or from another service;
 * - for a build whose stored time is in the future.
 */
import { jsonReader, objectOf, textShape } from '../../api/json-shape.ts';
import type { LedgerStore, OwnerRef } from '../../host/host.ts';
import type { Build } from '../../service/collectors/upgrade-service.ts';
import { newestFirst } from './target.ts';

const shard = 'builds';
const maxBuilds = 100;
const formatVersion = 1;

interface StoredBuilds {
  readonly format: number;
  /** Identity of the service that offers the builds. */
  readonly service: string;
  /** Each build's version, and the wall-clock time in ms at which the service first offered the build. */
  readonly seen: readonly (readonly [string, number])[];
}

export interface OfferedBuilds {
  readonly service: string;
  readonly builds: readonly Build[];
  /** Reports whether the policy may choose a version as its target. */
  readonly isCandidate: (version: string) => boolean;
  readonly wallMs: number;
}

export class SeenBuilds {
  readonly #store: LedgerStore;
  readonly #owner: OwnerRef;
  /** Stored builds. Undefined until the builds have been read, and after a write whose outcome is unknown. */
  #known: StoredBuilds | undefined;
  #version: string | undefined;

  constructor(store: LedgerStore, owner: OwnerRef) {
    this.#store = store;
    this.#owner = owner;
  }

  /**
   * Returns the time at which the service first offered each build, and stores the times of new builds. Throws if the
   * stored times cannot be read or written.
   */
  async update({ service, builds, isCandidate, wallMs }: OfferedBuilds): Promise<ReadonlyMap<string, number>> {
    this.#known ??= await this.#read();
    const before = new Map(this.#known.service === service ? this.#known.seen : []);
    if (builds.length === 0) return before;
    const seenSinceMs = new Map<string, number>();
    for (const version of buildsToStore(builds, isCandidate)) {
      seenSinceMs.set(version, Math.min(before.get(version) ?? wallMs, wallMs));
    }
    const content = { format: formatVersion, service, seen: [...seenSinceMs] };
    if (!sameAges(before, seenSinceMs)) await this.#write(content);
    return seenSinceMs;
  }

  /** Reads the stored builds. If the stored data is unreadable, every build counts as new. */
  async #read(): Promise<StoredBuilds> {
    const stored = await this.#store.read(this.#owner, shard);
    this.#version = stored?.version;
    return decodeBuilds(stored?.content) ?? { format: formatVersion, service: '', seen: [] };
  }

  async #write(content: StoredBuilds): Promise<void> {
    this.#known = undefined;
    const summary = `${content.seen.length} builds and the times at which the service first offered them`;
    this.#version = await this.#store.write(this.#owner, shard, JSON.stringify(content), this.#version, summary);
    this.#known = content;
  }
}

/**
 * Returns the builds to store, in this order: the latest build, builds that the policy may choose, and other builds
 * (newest first).
 */
function buildsToStore(builds: readonly Build[], isCandidate: (version: string) => boolean): readonly string[] {
  const latest = builds.filter((build) => build.latest).map(({ version }) => version);
  const ordered = newestFirst(builds.map(({ version }) => version));
  const candidates = ordered.filter(isCandidate);
  const others = ordered.filter((version) => !isCandidate(version));
  return [...new Set([...latest, ...candidates, ...others])].slice(0, maxBuilds);
}

function sameAges(left: ReadonlyMap<string, number>, right: ReadonlyMap<string, number>): boolean {
  return left.size === right.size && [...right].every(([version, sinceMs]) => left.get(version) === sinceMs);
}

const decodeBuilds = jsonReader<StoredBuilds>(
  objectOf({
    format: { const: formatVersion },
    service: textShape,
    seen: {
      type: 'array',
      items: { type: 'array', minItems: 2, maxItems: 2, items: [textShape, { type: 'integer' }] },
    },
  }),
);
