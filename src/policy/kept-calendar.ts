/** The calendar of a policy's windows, made anew when its text is another: what it has found out is worth keeping. */
import type { CollectorVersionPolicySpec, Maintenance } from '../api/generated/collector-version-policy.ts';
import { sameValue } from '../base/canonical-text.ts';
import { MaintenanceCalendar } from './maintenance-calendar.ts';

/** Shared by all policies that may start at any time. */
const always = new MaintenanceCalendar(undefined);

export class KeptCalendar {
  #calendar = always;
  #of: Maintenance | undefined;

  current({ maintenance }: Pick<CollectorVersionPolicySpec, 'maintenance'>): MaintenanceCalendar {
    if (maintenance !== this.#of && !sameValue(maintenance, this.#of)) {
      this.#calendar = new MaintenanceCalendar(maintenance);
    }
    this.#of = maintenance;
    return this.#calendar;
  }
}
