/** Leadership and settings of hosts that share their work with no other process: they always lead, and are never paused. */
import type { Leadership, OperatorSettings } from '../host/host.ts';

export const alwaysLeading: Leadership = {
  isLeader: () => true,
  term: () => 1,
  tookOverByForce: () => false,
  subscribe: () => () => {},
};

export const notPaused: OperatorSettings = { paused: false, pausedBy: undefined };
