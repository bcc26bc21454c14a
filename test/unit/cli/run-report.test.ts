import { describe, expect, it } from 'vitest';
import { resumeAllStep } from '../../../src/cli/render/next-steps.ts';
import { isExported, isFailedResource, showReport } from '../../../src/cli/run/run-report.ts';
import { recordingOutput, type Terminal } from '../../support/recording-context.ts';
import { sampleExport } from './sample-export.ts';
import { samplePolicy } from './sample-policy.ts';

const lastTransitionTime = '2026-11-02T12:00:00Z';
const condition = (type: string, status: 'True' | 'False' | 'Unknown', reason: string, message: string) => ({
  type,
  status,
  reason,
  message,
  lastTransitionTime,
});
const failed = samplePolicy({
  status: {
    conditions: [
      condition('Ready', 'False', 'CollectorsFailed', '2 collectors failed. Run `logfleet retry`.'),
      condition('Stalled', 'True', 'CollectorsFailed', '2 collectors failed. Run `logfleet retry`.'),
    ],
  },
});
const paused = samplePolicy({
  metadata: { annotations: { 'logfleet.dev/paused': 'true' } },
  status: { conditions: [condition('Ready', 'Unknown', 'Paused', 'Paused by the annotation.')] },
});
const elsewhere = samplePolicy({ metadata: { namespace: 'audit' }, status: paused.status });

function shown(policies: Parameters<typeof showReport>[0], terminal?: Terminal, resumeAll?: string) {
  const stdout = recordingOutput(terminal);
  const stderr = recordingOutput(terminal);
  showReport(policies, () => './it is', { stdout, stderr }, resumeAll);
  return { stdout: stdout.text, stderr: stderr.text };
}

describe('the outcome of a run', () => {
  it('shows how to resume a paused policy', () => {
    expect(shown([paused])).toEqual({
      stdout:
        "logging/production: Paused: Paused by the annotation. To resume: logfleet resume cvp/production --dir './it is'\n",
      stderr: '',
    });
  });

  it('shows the command that retries, with its flags', () => {
    const conditions = [condition('Ready', 'False', 'Aborted', 'Aborted. Run `logfleet retry`.')];
    const stopped = { reason: 'Aborted' as const, time: lastTransitionTime, message: 'Aborted by alice.' };
    const rollout = { id: '1-19.500-1', startTime: lastTransitionTime, stopped };
    expect(shown([samplePolicy({ status: { conditions, rollout } })]).stdout).toBe(
      "logging/production: Aborted: Aborted by alice. Set another target, or run: logfleet retry cvp/production --dir './it is'\n",
    );
  });

  it('contains no control characters from messages of the service', () => {
    const conditions = [condition('Ready', 'False', 'Stalled', 'The service responded: \u001b]0;title\u0007no')];
    expect(shown([samplePolicy({ status: { conditions } })]).stdout).toBe(
      'logging/production: Stalled: The service responded:  ]0;title no\n',
    );
  });

  it('shows how to resume everything, and each resource', () => {
    const request = { directory: './it is', manifest: '.logfleet/requests/settings.json', source: 'request' } as const;
    const manifest = { directory: 'other', manifest: 'sub/settings.yaml', source: 'manifest' } as const;
    const all = (...places: Parameters<typeof resumeAllStep>[0]) => {
      const conditions = [condition('Ready', 'Unknown', 'Paused', 'Paused by alice.')];
      return shown([samplePolicy({ status: { conditions } })], undefined, resumeAllStep(places)).stdout;
    };
    expect(all(request)).toBe(
      "logging/production: Paused: Paused by alice. To resume: logfleet resume --all --dir './it is'\n",
    );
    expect(all(manifest, request)).toContain(
      "To resume: remove the key paused from the ConfigMap logfleet-settings in other/sub/settings.yaml, and logfleet resume --all --dir './it is'\n",
    );
    expect(all()).not.toContain('To resume');
    expect(shown([paused], undefined, resumeAllStep([request])).stdout).toContain(
      "To resume: logfleet resume cvp/production --dir './it is', and logfleet resume --all --dir './it is'\n",
    );
  });

  it('shows the command that approves a waiting stage', () => {
    const waiting = samplePolicy({
      status: {
        conditions: [condition('Ready', 'False', 'AwaitingApproval', 'Waiting for the approval of stage rest.')],
        rollout: { id: '1-19.500-1', startTime: '2026-11-02T12:00:00Z' },
        stages: [{ name: 'rest', members: 3, updated: 0, failed: 0, state: 'AwaitingApproval' }],
      },
    });
    expect(shown([waiting]).stdout).toBe(
      "logging/production: AwaitingApproval: Waiting for the approval of stage rest. To approve: logfleet approve cvp/production --dir './it is' --stage rest\n",
    );
  });

  it('shows the namespace if two resources have the same name', () => {
    const { stdout } = shown([paused, elsewhere]);
    expect(stdout).toContain("logfleet resume cvp/production --dir './it is' -n logging\n");
  });

  it('names the command that shows the failures', () => {
    expect(shown([failed])).toEqual({
      stdout: 'logging/production: CollectorsFailed: 2 collectors failed. Run `logfleet retry`.\n',
      stderr: "To see why collectors were not upgraded: logfleet get cvp production --dir './it is'\n",
    });
    expect([failed, paused].map(isFailedResource)).toEqual([true, false]);
  });

  it('reports exports, including incomplete ones', () => {
    const exportOf = (reason: string, type: string, message: string) =>
      sampleExport({
        status: { conditions: [condition('Ready', 'True', reason, message), condition(type, 'True', reason, message)] },
      });
    const whole = exportOf('Exported', 'Complete', '5 rows are in 1 file.');
    const flagged = exportOf('ExportedIncomplete', 'Complete', 'The manifest flags 1 interval.');
    const limited = exportOf('MaxMessagesReached', 'Stalled', 'The limit is reached.');
    expect(shown([whole, paused]).stdout).toContain('logging/errors: Exported: 5 rows are in 1 file.\n');
    expect([whole, flagged, limited].map(isFailedResource)).toEqual([false, true, true]);
    expect([whole, flagged, limited].map(isExported)).toEqual([true, false, false]);
  });

  it('is wrapped on a terminal', () => {
    expect(shown([failed], { columns: 30 }).stdout).toBe(
      'logging/production:\nCollectorsFailed: 2 collectors\nfailed. Run `logfleet retry`.\n',
    );
  });

  it('reports a policy without status', () => {
    expect(shown([samplePolicy({ status: undefined })]).stdout).toBe(
      'logging/production: Unknown: no operator has read this resource yet\n',
    );
  });
});
