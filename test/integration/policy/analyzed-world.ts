/** Simulates collectors that send messages, with a canary stage that has a message analysis. */
import { before, middle, rest, type StagedSetting, staged, target } from './staged-world.ts';

const messages = { minRatio: '50%', duration: '30m', baseline: 'BeforeUpgrade', minMessages: 100 };

/** Creates 40 collectors that send messages, and a policy whose canary stage has a message analysis. */
export function analyzed({
  build = {},
  analysis = {},
  canary = {},
  group = {},
  ...setting
}: StagedSetting & AnalyzedParts) {
  const web = { count: 40, version: before, messagesPerMinute: 20, ...group };
  const stages = [
    {
      name: 'canary',
      size: 20,
      soakDuration: '35m',
      maxFailures: 0,
      analysis: { messages: { ...messages, ...analysis } },
      ...canary,
    },
    rest,
  ];
  const scenario = { builds: [before, middle, { version: target, ...build }], groups: { web }, ...setting.scenario };
  const world = staged({ ...setting, stages, scenario });
  const analysisNow = () => world.stage('canary')?.analysis;
  const searches = () => world.world.journal.filter(({ path }) => path.includes('/search/jobs'));
  return { ...world, analysisNow, searches };
}

export interface AnalyzedParts {
  readonly build?: object;
  readonly analysis?: object;
  readonly canary?: object;
  readonly group?: object;
}
