/**
 * Notifications about resources that are complete, or for which a user must act. This file decides which Events become
 * notifications, and renders the webhook requests. A request contains no secrets.
 */

import { createHash } from 'node:crypto';
import { reasons } from '../api/conditions.ts';
import { keyText } from '../base/key-text.ts';
import { isoText } from '../base/time-text.ts';
import type { OwnerRef, ResourceEvent } from '../host/host.ts';

/**
 * Subject of a notification.
 * - `Stopped`: a rollout has stopped, or is being rolled back.
 * - `ApprovalWanted`: a stage of a rollout is waiting for approval.
 * - `Completed`: a policy is at its target, an export is complete, or a schedule has ended.
 * - `Incomplete`: logfleet could not prove that an export is complete, or a schedule kept an incomplete run.
 * - `Stalled`: a resource needs user action for any other reason.
 */
export type Subject = 'Stopped' | 'ApprovalWanted' | 'Completed' | 'Incomplete' | 'Stalled';

export interface Notification {
  /** Id of the reported change. All attempts to deliver the notification send the same id. */
  readonly id: string;
  /** Time of the change, in ISO format. */
  readonly time: string;
  readonly subject: Subject;
  readonly kind: OwnerRef['kind'];
  readonly namespace: string;
  readonly name: string;
  readonly reason: string;
  readonly message: string;
}

export const formats = ['json', 'slack'] as const;
export type Format = (typeof formats)[number];

const subjects: ReadonlyMap<string, Subject> = new Map([
  [reasons.rolloutStopped, 'Stopped'],
  [reasons.rollingBack, 'Stopped'],
  [reasons.rolledBack, 'Stopped'],
  [reasons.stageInconclusive, 'Stopped'],
  [reasons.aborted, 'Stopped'],
  [reasons.awaitingApproval, 'ApprovalWanted'],
  [reasons.allUpdated, 'Completed'],
  [reasons.exported, 'Completed'],
  [reasons.scheduleEnded, 'Completed'],
  [reasons.exportedIncomplete, 'Incomplete'],
  [reasons.intervalIncomplete, 'Incomplete'],
]);

/** Returns the notification for an Event, or undefined if users do not need to be notified about the Event. */
export function notificationOf(owner: OwnerRef, event: ResourceEvent, timeMs: number): Notification | undefined {
  const subject = subjects.get(event.reason) ?? (event.stalled ? 'Stalled' : undefined);
  if (subject === undefined || event.isSameState) return undefined;
  const { kind, namespace, name, uid } = owner;
  const { reason, message } = event;
  const time = isoText(timeMs);
  const id = createHash('sha256')
    .update(JSON.stringify([uid, reason, time]))
    .digest('hex')
    .slice(0, 32);
  return { id, time, subject, kind, namespace, name, reason, message };
}

export function renderBody(notification: Notification, format: Format): string {
  switch (format) {
    case 'json':
      return JSON.stringify({ source: 'logfleet', ...notification });
    case 'slack':
      return JSON.stringify({ text: slackText(notification) });
  }
}

const titles: Readonly<Record<Subject, string>> = {
  Stopped: 'Rollout stopped',
  ApprovalWanted: 'Approval wanted',
  Completed: 'Completed',
  Incomplete: 'Incomplete',
  Stalled: 'Stalled',
};

function slackText({ subject, kind, reason, message, ...key }: Notification): string {
  return `*${titles[subject]}*: ${kind} ${escaped(keyText(key))} (${reason})\n${escaped(message)}`;
}

/** Escapes characters that are special in Slack messages. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
