package kipviz.recorder;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;

/** The digest of the program that makes the recordings: a recording says which one made it. */
final class Sources {

    private Sources() {
    }

    /** SHA-256 over every file of the program, each as its name, a zero byte, its content and a zero byte. */
    static String digest(Path folder) {
        try (Stream<Path> found = Files.walk(folder)) {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            List<Path> files = found.filter(Files::isRegularFile)
                .sorted((one, other) -> name(folder, one).compareTo(name(folder, other))).toList();
            for (Path file : files) {
                digest.update(name(folder, file).getBytes(StandardCharsets.UTF_8));
                digest.update((byte) 0);
                digest.update(Files.readAllBytes(file));
                digest.update((byte) 0);
            }
            return HexFormat.of().formatHex(digest.digest());
        } catch (IOException problem) {
            throw new UncheckedIOException(problem);
        } catch (NoSuchAlgorithmException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    private static String name(Path folder, Path file) {
        return folder.relativize(file).toString().replace('\\', '/');
    }
}
