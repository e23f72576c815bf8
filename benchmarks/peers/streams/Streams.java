import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.serialization.Serde;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.Topology;
import org.apache.kafka.streams.processor.api.Processor;
import org.apache.kafka.streams.processor.api.ProcessorContext;
import org.apache.kafka.streams.processor.api.Record;
import org.apache.kafka.streams.state.KeyValueStore;
import org.apache.kafka.streams.state.Stores;

/** Kafka Streams: a processor over a cached RocksDB store with its changelog, exactly-once v2, two threads. */
public final class Streams {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final AtomicBoolean WAITS = new AtomicBoolean(true);

  private Streams() {}

  public static void main(String[] arguments) {
    Properties settings = new Properties();
    settings.put(StreamsConfig.APPLICATION_ID_CONFIG, told("GROUP"));
    settings.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, told("BOOTSTRAP"));
    settings.put(StreamsConfig.STATE_DIR_CONFIG, told("PLACE") + "/states");
    settings.put(StreamsConfig.NUM_STREAM_THREADS_CONFIG, "2");
    settings.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
    settings.put("auto.offset.reset", "earliest");
    Topology topology = new Topology();
    topology.addSource("journal", new StringDeserializer(), json(Fold.Event.class).deserializer(), told("JOURNAL"));
    topology.addProcessor("grade", Grade::new, "journal");
    topology.addStateStore(
        Stores.keyValueStoreBuilder(Stores.persistentKeyValueStore("runs"), Serdes.String(), json(Fold.State.class))
            .withCachingEnabled(),
        "grade");
    topology.addSink(
        "verdicts", told("VERDICTS"), new StringSerializer(), json(Fold.Verdict.class).serializer(), "grade");
    KafkaStreams streams = new KafkaStreams(topology, settings);
    Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
    streams.start();
  }

  /** Folds each event into its run's state, and forwards the verdicts of a run that has ended. */
  private static final class Grade implements Processor<String, Fold.Event, String, Fold.Verdict> {
    private KeyValueStore<String, Fold.State> runs;
    private ProcessorContext<String, Fold.Verdict> context;

    @Override
    public void init(ProcessorContext<String, Fold.Verdict> given) {
      context = given;
      runs = given.getStateStore("runs");
    }

    @Override
    public void process(Record<String, Fold.Event> record) {
      begun();
      Fold.State known = runs.get(record.key());
      Fold.State state = known == null ? new Fold.State() : known;
      List<Fold.Verdict> verdicts = Fold.fold(state, record.value());
      if (verdicts == null) {
        runs.put(record.key(), state);
      } else {
        runs.delete(record.key());
        verdicts.forEach(verdict -> context.forward(record.withValue(verdict)));
      }
    }
  }

  private static String told(String name) {
    return System.getenv("BENCH_" + name);
  }

  /** Leaves the time of the first event for whoever measures. */
  private static void begun() {
    if (WAITS.get() && WAITS.getAndSet(false)) {
      try {
        Files.writeString(Path.of(told("PLACE"), "first"), System.currentTimeMillis() / 1e3 + "\n");
      } catch (IOException error) {
        throw new UncheckedIOException(error);
      }
    }
  }

  private static <T> Serde<T> json(Class<T> kind) {
    return Serdes.serdeFrom(
        (topic, value) -> {
          try {
            return value == null ? null : JSON.writeValueAsBytes(value);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        },
        (topic, bytes) -> {
          try {
            return bytes == null ? null : JSON.readValue(bytes, kind);
          } catch (IOException error) {
            throw new UncheckedIOException(error);
          }
        });
  }
}
