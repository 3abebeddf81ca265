package kipviz.recorder;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/** Runs the scenarios, each against a broker of its own, and writes what happened. */
public final class Recorder {

    private static final long PATIENCE_MS = 900_000;

    private Recorder() {
    }

    public static void main(String[] words) throws Exception {
        if (words.length != 2) {
            System.err.println("usage: Recorder <folder> <scenario|all>");
            System.exit(2);
        }
        stopByItself();
        WireLog.listen();
        List<String> named = List.of(words[1].split(","));
        List<Scenarios.Listed> all = Scenarios.all();
        List<Scenarios.Listed> wanted = all.stream()
            .filter(each -> named.contains("all") || named.contains(each.scenario().name())).toList();
        if (wanted.isEmpty()) {
            System.err.println("No scenario is called " + words[1] + "; there are "
                + all.stream().map(each -> each.scenario().name()).toList() + " and all.");
            System.exit(2);
        }
        Path out = Path.of(words[0], "kafka-" + Broker.release().getProperty("version"));
        for (Scenarios.Listed each : wanted) {
            run(each.scenario(), each.source(), out.resolve(each.scenario().name()));
        }
        System.exit(0);
    }

    private static void run(Scenario scenario, String source, Path folder) throws Exception {
        System.err.println("recording " + scenario.name() + " into " + folder);
        delete(folder);
        WireLog.take();
        Path home = Files.createTempDirectory("kipviz-broker");
        try {
            Recording recording;
            try (Broker broker = scenario.opening().open(home, scenario);
                 Recording opened = new Recording(folder, scenario, source, broker)) {
                recording = opened;
                scenario.body().run(broker, recording);
                recording.describeCluster();
            }
            recording.save();
        } finally {
            delete(home);
        }
    }

    /** A broker that hangs must not stay behind. */
    private static void stopByItself() {
        Thread watchdog = new Thread(() -> {
            try {
                Thread.sleep(PATIENCE_MS);
            } catch (InterruptedException stopped) {
                return;
            }
            System.err.println("The recording took longer than " + PATIENCE_MS / 1000 + " seconds and was stopped.");
            Runtime.getRuntime().halt(3);
        }, "watchdog");
        watchdog.setDaemon(true);
        watchdog.start();
    }

    private static void delete(Path folder) throws Exception {
        if (Files.exists(folder)) {
            try (Stream<Path> files = Files.walk(folder)) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
        }
    }
}
