/** Damages manifests in different states of a rollout. No upgrade may start, and no state may be lost (D1 to D5). */
import { copyFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Scenario } from '../../../../simulator/scenario/scenario.ts';
import type { CollectorVersionPolicy } from '../../../../src/api/kinds.ts';
import { minuteMs } from '../../../../src/base/time-units.ts';
import { shareOf } from '../../../support/random-runs.ts';
import { DirectoryWorld } from './directory-world.ts';

const [oldVersion, newVersion] = ['19.400-1', '19.500-1'];

const pin = `# Source: chart-1.0.0
apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: databases, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  priority: 10
  target: {version: ${oldVersion}}
  selector: {matchNames: ["db-*"]}
`;
const rollout = `# Source: chart-1.0.0
apiVersion: logfleet.dev/v1alpha1
kind: CollectorVersionPolicy
metadata: {name: web, namespace: logging}
spec:
  credentialsSecretRef: {name: log-service}
  target: {version: ${newVersion}}
  selector: {}
  retryPolicy: {limit: 0}
  failurePolicy: {action: Pause, maxFailures: 0}
  strategy:
    stages:
      - {name: canary, size: 1, soakDuration: 1h}
      - {name: rest, approval: Required}
`;
const files: Readonly<Record<string, string>> = { 'a-databases.yaml': pin, 'b-web.yaml': rollout };
const names = Object.keys(files);

interface Damage {
  readonly name: string;
  /** Damages a manifest file. When the test repairs the file, it also removes the files in `extra`. */
  readonly apply: (world: DirectoryWorld, file: string, text: string) => void;
  /** Time in ms from the damage to its repair. Default: 12,000. */
  readonly lastsMs?: number;
  /** Additional files created by the damage. */
  readonly extra?: readonly string[];
  /** Whether an operator that starts after the damage cannot notice the damage. */
  readonly isUnseen?: true;
}

const write =
  (change: (text: string) => string | Uint8Array): Damage['apply'] =>
  (world, file, text) =>
    world.write(file, change(text));

/**
 * Returns the part of a changed manifest that a slow writer has written so far: all lines before the line that contains
 * `pause`.
 */
function rewritten(text: string, pause: string): string {
  const lines = text.replace(/^# Source.*/, '# Source: chart-1.0.1').split('\n');
  return `${lines
    .slice(
      0,
      lines.findIndex((line) => line.includes(pause)),
    )
    .join('\n')}\n`;
}

const damages: readonly Damage[] = [
  { name: 'emptied', apply: write(() => '') },
  { name: 'blank', apply: write(() => '\n---\n') },
  { name: 'cut within a line', apply: write((text) => text.slice(0, text.length - 6)) },
  {
    name: 'cut between two lines',
    apply: write((text) => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`),
    isUnseen: true,
  },
  { name: 'invalid', apply: write((text) => text.replace('selector:', 'selectors:')) },
  { name: 'misspelt in the field kind', apply: write((text) => text.replace('Policy', 'Polcy')) },
  { name: 'no YAML', apply: write(() => 'spec: [never\n') },
  { name: 'UTF-16 without a mark', apply: write((text) => Buffer.from(text, 'utf16le')) },
  { name: 'binary', apply: write(() => Buffer.from([0, 255, 254, 1])) },
  { name: 'in two documents', apply: write((text) => `${text}---\n${text}`) },
  {
    name: 'in two files',
    apply: (world, file, text) => world.write(`copy-of-${file}`, text.replace(newVersion, '19.600-1')),
    extra: names.map((file) => `copy-of-${file}`),
  },
  {
    name: 'missing for a moment',
    apply: (world, file) => rmSync(world.place.path(file)),
    lastsMs: 3_000,
    isUnseen: true,
  },
  {
    name: 'a link to a missing file',
    apply: (world, file) => {
      rmSync(world.place.path(file));
      symlinkSync('nowhere.yaml', world.place.path(file));
    },
  },
  { name: 'being written slowly', apply: write((text) => text.slice(0, 62)), lastsMs: 2_500 },
  {
    name: 'rewritten slowly with a changed first line',
    apply: write((text) => rewritten(text, 'strategy:')),
    lastsMs: 9_000,
    isUnseen: true,
  },
  {
    name: 'rewritten slowly with more lines at its beginning',
    apply: write((text) =>
      rewritten(text.replace('spec:', 'spec:\n  paused:\n    false\n  mode:\n    Enforce'), 'strategy:'),
    ),
    lastsMs: 9_000,
    isUnseen: true,
  },
  {
    name: 'in a file of another name',
    apply: (world, file) => renameSync(world.place.path(file), world.place.path(`moved-${file}`)),
    extra: names.map((file) => `moved-${file}`),
    isUnseen: true,
  },
  { name: 'UTF-16 with a mark', apply: write((text) => Buffer.from(`\ufeff${text}`, 'utf16le')), isUnseen: true },
];

function scenario(outcome: 'fail' | undefined): Scenario {
  const upgrade = { duration: '14m', ...(outcome && { outcomes: [{ end: outcome }] }) } as const;
  return {
    builds: [oldVersion, newVersion, '19.600-1'],
    groups: { web: { count: 3, version: oldVersion, upgrade }, db: { count: 2, version: oldVersion } },
  };
}

function begin(outcome?: 'fail'): DirectoryWorld {
  const world = new DirectoryWorld(scenario(outcome));
  onTestFinished(() => world.close());
  const metadata = { name: 'log-service', namespace: 'logging' };
  const secret = { apiVersion: 'v1', kind: 'Secret', metadata, stringData: world.secret };
  world.write('secret.json', `${JSON.stringify(secret)}\n`);
  repair(world);
  return world;
}

function repair(world: DirectoryWorld, { extra = [] }: Pick<Damage, 'extra'> = {}): void {
  for (const file of [...extra, ...names]) rmSync(world.place.path(file), { force: true });
  for (const [file, text] of Object.entries(files)) {
    world.write(`${file}.new`, text);
    renameSync(world.place.path(`${file}.new`), world.place.path(file));
  }
}

/** Returns the policy fields that must not change when a manifest is damaged. */
function remembered({ metadata: { uid, generation }, status }: CollectorVersionPolicy) {
  const stages = status?.stages?.map(({ name, state, startTime, soakedUntil }) => ({
    name,
    state,
    startTime,
    soakedUntil,
  }));
  return { uid, generation, rollout: status?.rollout?.id, stages, collectors: status?.collectors };
}

/** State of the rollout in which a test damages a manifest, and how the test reaches that state. */
interface Point {
  readonly name: string;
  readonly state: string;
  readonly outcome?: 'fail';
  readonly reach: (world: DirectoryWorld) => Promise<void>;
  readonly upgrades: number;
}

const stageState = (world: DirectoryWorld, stage: number) => world.policy('web')?.status?.stages?.[stage]?.state;

async function reachStage(world: DirectoryWorld, stage: number, state: string): Promise<void> {
  expect(await world.until(() => stageState(world, stage) === state, 120 * minuteMs)).toBe(true);
}

async function approve(world: DirectoryWorld): Promise<void> {
  await reachStage(world, 1, 'AwaitingApproval');
  await world.annotate('web', 'logfleet.dev/approve', `${world.policy('web')?.status?.rollout?.id}/rest`);
}

const points: readonly Point[] = [
  {
    name: 'an upgrade is in flight',
    state: 'Progressing',
    reach: async (world) => {
      expect(await world.until(() => world.policy('web')?.status?.collectors?.inProgress === 1, 5 * minuteMs)).toBe(
        true,
      );
    },
    upgrades: 1,
  },
  { name: 'a stage soaks', state: 'Soaking', reach: (world) => reachStage(world, 0, 'Soaking'), upgrades: 1 },
  {
    name: 'an approval is wanted',
    state: 'Completed',
    reach: (world) => reachStage(world, 1, 'AwaitingApproval'),
    upgrades: 1,
  },
  {
    name: 'the rollout is stopped',
    state: 'Stopped',
    outcome: 'fail',
    reach: (world) => reachStage(world, 0, 'Stopped'),
    upgrades: 1,
  },
  {
    name: 'the rollout is complete',
    state: 'Completed',
    reach: async (world) => {
      await approve(world);
      await reachStage(world, 1, 'Completed');
    },
    upgrades: 3,
  },
];

describe.each(points.map((point, index) => ({ ...point, index })))('while $name', (point) => {
  const { outcome, reach, state, upgrades, index } = point;
  test.each(shareOf([false, true], 2, index))(
    'damage starts no upgrade, and loses no state (restart: %s)',
    async (restarts) => {
      const world = begin(outcome);
      await world.start();
      await reach(world);
      const web = world.policy('web');
      const databases = world.policy('databases');
      expect([web, databases]).not.toContain(undefined);
      const before = [web, databases].map((policy) => policy && remembered(policy));
      expect(stageState(world, 0)).toBe(state);
      for (const damage of shareOf(damages, points.length, index)) {
        for (const [file, text] of Object.entries(files)) damage.apply(world, file, text);
        const { lastsMs = 12_000 } = damage;
        world.clock.after(lastsMs, () => repair(world, damage));
        if (restarts) {
          await world.stop();
          await world.start();
        }
        await world.pass(lastsMs);
        await world.pass(12_000);
        expect({ damage: damage.name, upgrades: world.upgrades().length }).toEqual({ damage: damage.name, upgrades });
        const after = ['web', 'databases']
          .map((name) => world.policy(name))
          .map((policy) => policy && remembered(policy));
        expect({ damage: damage.name, after }).toEqual({ damage: damage.name, after: before });
        expect(world.host.problems()).toEqual([]);
      }
    },
  );
});

describe('before the first start', () => {
  test.each(damages.filter(({ isUnseen }) => !isUnseen))(
    'a manifest that is $name blocks all policies, and the rollout begins when it is repaired',
    async (damage) => {
      for (const damaged of names) {
        const world = begin();
        damage.apply(world, damaged, files[damaged] ?? '');
        await world.start();
        await world.pass(2 * minuteMs);
        expect(world.upgrades()).toEqual([]);
        expect(world.host.settings().upgradesBlocked).toBeDefined();
        repair(world, damage);
        await world.until(() => world.upgrades().length > 0, 5 * minuteMs);
        expect(world.upgrades()).toEqual([expect.stringContaining('web')]);
        await world.close();
      }
    },
  );
});

test('a stopped policy that is deleted and put back stays stopped (D4)', async () => {
  const world = begin('fail');
  await world.start();
  await reachStage(world, 0, 'Stopped');
  const before = world.policy('web');
  copyFileSync(world.place.path('b-web.yaml'), world.place.path('kept'));
  rmSync(world.place.path('b-web.yaml'));
  await world.pass(minuteMs);
  expect(world.policy('web')).toBe(undefined);
  expect(world.host.notices()).toHaveLength(1);
  await world.stop();
  await world.start();
  await world.pass(60 * minuteMs);
  world.write('b-web.yaml', world.place.read('kept'));
  await world.pass(60 * minuteMs);
  expect(world.policy('web')?.metadata.uid).toBe(before?.metadata.uid);
  expect(stageState(world, 0)).toBe('Stopped');
  expect(world.upgrades()).toHaveLength(1);
});
