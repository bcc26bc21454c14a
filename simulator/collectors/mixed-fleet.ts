/**
 * A realistic mixed fleet of web servers, databases and desktops. Some collectors are offline, and some upgrades fail.
 */
import { drawFor } from '../base/chance.ts';
import type { CollectorGroup, Scenario } from '../scenario/scenario.ts';

const oldVersions = ['19.253-26', '19.288-4', '19.318-6', '19.361-20', '19.404-12'] as const;
const targetVersion = '19.500-1';

interface Kind {
  readonly name: string;
  readonly share: number;
  readonly group: Omit<CollectorGroup, 'count'>;
}

const linux = { osName: 'Linux', osArch: 'amd64' } as const;
const windows = { osName: 'Windows Server 2022', osVersion: '10.0', osArch: 'amd64' } as const;
const mac = { osName: 'Mac OS X', osVersion: '15.1', osArch: 'aarch64' } as const;

const kinds: readonly Kind[] = [
  {
    name: 'web',
    share: 0.4,
    group: { ...linux, osVersion: '6.1.0', timeZone: 'Europe/Berlin', versions: oldVersions },
  },
  {
    name: 'db',
    share: 0.2,
    group: { ...linux, osVersion: '5.14.0', timeZone: 'America/New_York', versions: oldVersions },
  },
  { name: 'app', share: 0.16, group: { ...windows, timeZone: 'Asia/Kolkata', versions: oldVersions } },
  {
    name: 'mac',
    share: 0.06,
    group: { ...mac, timeZone: 'America/Los_Angeles', versions: oldVersions, ephemeral: true },
  },
  { name: 'new', share: 0.06, group: { ...linux, timeZone: 'Etc/UTC', version: targetVersion } },
  {
    name: 'edge',
    share: 0.05,
    group: { ...linux, timeZone: 'Australia/Sydney', versions: oldVersions, running: false },
  },
  {
    name: 'legacy',
    share: 0.04,
    group: {
      ...windows,
      osName: 'Windows Server 2012 R2',
      osVersion: '6.3',
      timeZone: 'Asia/Tokyo',
      version: '19.253-26',
      upgrade: {
        outcomes: [
          { share: 0.5, end: 'fail', message: 'Not enough disk space on C:.' },
          { share: 0.5, end: 'fail', message: 'The installer ended with exit code 1603.' },
        ],
      },
    },
  },
  {
    name: 'cloud',
    share: 0.03,
    group: { collectorType: 'Hosted', timeZone: 'Etc/UTC', omit: ['osName', 'osVersion', 'osArch'] },
  },
];

/** Returns a scenario with `size` collectors. If `size` is at least 10, the scenario has collectors of every kind. */
export function mixedFleet(size: number, seed = 1): Scenario {
  const round = size < 10 ? Math.floor : Math.ceil;
  const counts = kinds.map(({ share }, index) => (index === 0 ? 0 : round(size * share)));
  counts[0] = (counts[0] ?? 0) + size - counts.reduce((sum, count) => sum + count, 0);
  const turn = Math.floor(drawFor(seed, 'versions') * oldVersions.length);
  const turned = [...oldVersions.slice(turn), ...oldVersions.slice(0, turn)];
  return {
    seed,
    builds: [...oldVersions, targetVersion],
    list: { hosted: true },
    upgrade: { duration: ['2m', '4m'] },
    groups: Object.fromEntries(
      kinds.map(({ name, group }, index) => [
        name,
        { ...group, ...(group.versions ? { versions: turned } : {}), count: counts[index] ?? 0 },
      ]),
    ),
  };
}
