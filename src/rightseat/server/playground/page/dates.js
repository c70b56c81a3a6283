// Days as people speak of them: the group that a moment belongs to, and its short form.

const DAY = 86_400_000;

const midnight = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();

/** How many days ago; today is 0. Days of 23 and of 25 hours count as days. */
export const daysAgo = (date, now = new Date()) => Math.round((midnight(now) - midnight(date)) / DAY);

/** The name of its group: today, yesterday, week, older. */
export function group(date, now) {
  const days = daysAgo(date, now);
  return days <= 0 ? "today" : days === 1 ? "yesterday" : days < 7 ? "week" : "older";
}

const FORMS = {
  today: { hour: "2-digit", minute: "2-digit", hour12: false },
  yesterday: { hour: "2-digit", minute: "2-digit", hour12: false },
  week: { weekday: "short" },
  older: { day: "numeric", month: "short" },
};

/** 14:02, Thu, 2 Nov. */
export function short(date, language, now) {
  const locale = language === "zh" ? "zh-CN" : "en-GB";
  return new Intl.DateTimeFormat(locale, FORMS[group(date, now)]).format(date);
}
