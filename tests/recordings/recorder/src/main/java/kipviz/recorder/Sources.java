package kipviz.recorder;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * The digest of what made a recording: a recording says by which program and which scenario it was made.
 *
 * <p>A source counts if the program's beginning or the source of the scenario names its class, or one that they name
 * does. Every file that is no Java source counts. The list of the scenarios does not: which others there are changes
 * nothing of what one of them does.
 */
final class Sources {

    private static final String JAVA = ".java";
    private static final String BEGINNING = "Recorder";
    private static final String LIST = "Scenarios";

    private Sources() {
    }

    /** SHA-256 over each file that counts, as its name, a zero byte, its content and a zero byte. */
    static String digest(Path folder, String scenarioSource) {
        try (Stream<Path> found = Files.walk(folder)) {
            Map<String, byte[]> files = new TreeMap<>();
            for (Path file : found.filter(Files::isRegularFile).toList()) {
                files.put(folder.relativize(file).toString().replace('\\', '/'), Files.readAllBytes(file));
            }
            Set<String> named = named(files, scenarioSource);
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            files.forEach((name, content) -> {
                if (!name.endsWith(JAVA) || named.contains(stem(name))) {
                    digest.update(name.getBytes(StandardCharsets.UTF_8));
                    digest.update((byte) 0);
                    digest.update(content);
                    digest.update((byte) 0);
                }
            });
            return HexFormat.of().formatHex(digest.digest());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** The classes that are named, from the beginning of the program and the scenario's source on. */
    private static Set<String> named(Map<String, byte[]> files, String scenarioSource) {
        Map<String, Set<String>> words = new TreeMap<>();
        files.forEach((name, content) -> {
            if (name.endsWith(JAVA)) {
                words.put(stem(name), Set.copyOf(List.of(
                    new String(content, StandardCharsets.UTF_8).split("\\W+"))));
            }
        });
        words.remove(LIST);
        Set<String> known = new TreeSet<>();
        Deque<String> left = new ArrayDeque<>(List.of(BEGINNING, scenarioSource));
        while (!left.isEmpty()) {
            String next = left.remove();
            if (words.containsKey(next) && known.add(next)) {
                left.addAll(words.get(next));
            }
        }
        return known;
    }

    private static String stem(String name) {
        return name.substring(name.lastIndexOf('/') + 1, name.length() - JAVA.length());
    }
}
