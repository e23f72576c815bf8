import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The three checks as one fold over a run's events: programs/fold.py once more, for engines in Java. */
final class Fold {
  private static final Pattern ORDER_ID = Pattern.compile("order_id=(ORD-[0-9]{6})");

  private Fold() {}

  /** What the checks read of an event. */
  @JsonIgnoreProperties(ignoreUnknown = true)
  static final class Event {
    @JsonProperty("run_id") public String run;
    public String type;
    public String role;
    public String name;
    public String content;
    public String result;
    public int seq;
  }

  /** What is known of a run; -1 stands for an event that has not come. */
  static final class State {
    public List<String> ids = new ArrayList<>();
    public int echoed = -1;
    public int refund = -1;
    public int model = -1;
    public boolean login;
    public boolean unasked;
  }

  /** One check on one run. */
  static final class Verdict {
    @JsonProperty("run_id") public final String run;
    public final String check;
    public final String outcome;
    public final int seq;

    Verdict(String run, String check, String outcome, int seq) {
      this.run = run;
      this.check = check;
      this.outcome = outcome;
      this.seq = seq;
    }
  }

  /** Takes an event into the state; the verdicts once the run has ended, else null. */
  static List<Verdict> fold(State state, Event event) {
    switch (event.type) {
      case "message" -> {
        if (event.role.equals("assistant")) {
          hear(state, event.seq, event.content);
        }
      }
      case "tool.call" -> call(state, event);
      case "tool.result" -> {
        if (event.name.equals("orders.find")) {
          Matcher found = ORDER_ID.matcher(event.result);
          if (found.find()) {
            state.ids.add(found.group(1));
          }
        }
      }
      case "run.end" -> {
        return verdicts(state, event.run, event.seq);
      }
      default -> { }
    }
    return null;
  }

  private static void call(State state, Event event) {
    if (event.name.equals("auth.login")) {
      state.login = true;
    } else if (event.name.equals("payments.refund") && state.refund < 0) {
      state.refund = event.seq;
      state.unasked = !state.login;
    }
  }

  private static void hear(State state, int seq, String text) {
    if (state.echoed < 0 && state.ids.stream().anyMatch(text::contains)) {
      state.echoed = seq;
    }
    if (state.model < 0 && text.toLowerCase(Locale.ROOT).contains("as an ai language model")) {
      state.model = seq;
    }
  }

  private static List<Verdict> verdicts(State state, String run, int end) {
    String order = state.refund < 0 ? "skipped" : state.unasked ? "fail" : "pass";
    return List.of(
        new Verdict(run, "echo", state.echoed < 0 ? "fail" : "pass", state.echoed < 0 ? end : state.echoed),
        new Verdict(run, "order", order, state.refund < 0 ? end : state.refund),
        new Verdict(run, "wording", state.model < 0 ? "pass" : "fail", state.model < 0 ? end : state.model));
  }
}
