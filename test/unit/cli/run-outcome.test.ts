import { describe, expect, it } from 'vitest';
import { hasFailed, isExported, isStalled, showOutcome } from '../../../src/cli/run-outcome.ts';
import { wayOnForAll } from '../../../src/cli/way-on.ts';
import { exportHealth } from '../../../src/export/export-health.ts';
import type { WorkView } from '../../../src/export/work-view.ts';
import { viewOf } from '../export/sample-view.ts';
import { recordingOutput, type Terminal } from './recording-context.ts';
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
      condition('Ready', 'False', 'CollectorsFailed', '2 collectors failed.'),
      condition('Stalled', 'True', 'CollectorsFailed', '2 collectors failed.'),
    ],
  },
});
const paused = samplePolicy({
  metadata: { annotations: { 'logfleet.dev/paused': 'true' } },
  status: { conditions: [condition('Ready', 'Unknown', 'Paused', 'Paused by the annotation.')] },
});
const elsewhere = samplePolicy({ metadata: { namespace: 'audit' }, status: paused.status });

function shown(policies: Parameters<typeof showOutcome>[0], terminal?: Terminal, goOnForAll?: string) {
  const stdout = recordingOutput(terminal);
  const stderr = recordingOutput(terminal);
  showOutcome(policies, () => './it is', { stdout, stderr }, goOnForAll);
  return { stdout: stdout.text, stderr: stderr.text };
}

describe('the outcome of a run', () => {
  it('says how a paused policy goes on', () => {
    expect(shown([paused])).toEqual({
      stdout:
        "logging/production: Paused: Paused by the annotation. To go on: logfleet resume cvp/production --dir './it is'\n",
      stderr: '',
    });
  });

  it('says how a person goes on, with all that the command needs', () => {
    const conditions = [condition('Ready', 'False', 'Aborted', 'Aborted: go on with `logfleet retry`.')];
    expect(shown([samplePolicy({ status: { conditions } })]).stdout).toBe(
      "logging/production: Aborted: Aborted: go on with `logfleet retry cvp/production --dir './it is'`.\n",
    );
  });

  it('asks for another start of an export where nobody would hear an annotation', () => {
    const open = { fromMs: 0, toMs: 1, reason: 'CountDiffers', received: 2, expected: 3, message: 'Rows are missing' };
    const unproven = [open] as unknown as WorkView['unproven'];
    const view = viewOf({ waitsFor: { kind: 'people', isRest: true } as WorkView['waitsFor'], unproven });
    const { reason, message } = exportHealth({ pausedBy: undefined, problem: undefined, limits: undefined, view });
    expect(message).toContain('annotation');
    const conditions = [condition('Ready', 'False', reason, message), condition('Stalled', 'True', reason, message)];
    expect(shown([sampleExport({ status: { conditions } })]).stdout).toMatch(/flagged, or run it again\.\n$/);
  });

  it('says how all go on where all are paused, each by what pauses it besides', () => {
    const request = { directory: './it is', manifest: '.logfleet/requests/settings.json', source: 'request' } as const;
    const manifest = { directory: 'other', manifest: 'sub/settings.yaml', source: 'manifest' } as const;
    const all = (...places: Parameters<typeof wayOnForAll>[0]) => {
      const conditions = [condition('Ready', 'Unknown', 'Paused', 'Paused by alice.')];
      return shown([samplePolicy({ status: { conditions } })], undefined, wayOnForAll(places)).stdout;
    };
    expect(all(request)).toBe(
      "logging/production: Paused: Paused by alice. To go on: logfleet resume --all --dir './it is'\n",
    );
    expect(all(manifest, request)).toContain(
      "To go on: take paused out of the ConfigMap logfleet-settings in other/sub/settings.yaml, and logfleet resume --all --dir './it is'\n",
    );
    expect(all()).not.toContain('To go on');
    expect(shown([paused], undefined, wayOnForAll([request])).stdout).toContain(
      "To go on: logfleet resume cvp/production --dir './it is', and logfleet resume --all --dir './it is'\n",
    );
  });

  it('says how the stage is approved that waits for it', () => {
    const waiting = samplePolicy({
      status: {
        conditions: [condition('Ready', 'False', 'AwaitingApproval', 'Waiting for the approval of stage rest.')],
        stages: [{ name: 'rest', members: 3, updated: 0, failed: 0, state: 'AwaitingApproval' }],
      },
    });
    expect(shown([waiting]).stdout).toBe(
      "logging/production: AwaitingApproval: Waiting for the approval of stage rest. To approve: logfleet approve cvp/production --dir './it is' --stage rest\n",
    );
  });

  it('names the namespace where the name alone leads to two', () => {
    const { stdout } = shown([paused, elsewhere]);
    expect(stdout).toContain("logfleet resume cvp/production --dir './it is' -n logging\n");
  });

  it('says where it stands who failed and why', () => {
    expect(shown([failed])).toEqual({
      stdout: 'logging/production: CollectorsFailed: 2 collectors failed.\n',
      stderr: "See logfleet get cvp production --dir './it is' for which, and why.\n",
    });
    expect([failed, paused].map(isStalled)).toEqual([true, false]);
  });

  it('is that of an export, too, which may be complete without being whole', () => {
    const exportOf = (reason: string, type: string, message: string) =>
      sampleExport({
        status: { conditions: [condition('Ready', 'True', reason, message), condition(type, 'True', reason, message)] },
      });
    const whole = exportOf('Exported', 'Complete', '5 rows are in 1 file.');
    const flagged = exportOf('ExportedIncomplete', 'Complete', 'The manifest flags 1 interval.');
    const limited = exportOf('MaxMessagesReached', 'Stalled', 'The limit is reached.');
    expect(shown([whole, paused]).stdout).toContain('logging/errors: Exported: 5 rows are in 1 file.\n');
    expect([whole, flagged, limited].map(hasFailed)).toEqual([false, true, true]);
    expect([whole, flagged, limited].map(isExported)).toEqual([true, false, false]);
  });

  it('is broken at blanks on a terminal', () => {
    expect(shown([failed], { columns: 30 }).stdout).toBe(
      'logging/production:\nCollectorsFailed: 2 collectors\nfailed.\n',
    );
  });

  it('says so of a policy that nobody has looked at', () => {
    expect(shown([samplePolicy({ status: undefined })]).stdout).toBe('logging/production: Unknown: not looked at\n');
  });
});
