import FoundationEssentials
import Glibc

/// Writes `memberDescriptions` of the types that are `SchemaDocumented`, from the documentation
/// comments of their members:
///
///     describe-members OUTPUT SOURCE...
///
/// The plugin DescribeMembers runs it during the build. It exits with status 1 and prints each
/// comment that cannot be a description.
@main
enum DescribeMembers {
  static func main() {
    do {
      try run()
    } catch {
      print("describe-members: \(error)")
      exit(EXIT_FAILURE)
    }
  }

  private static func run() throws {
    let paths = CommandLine.arguments.dropFirst()
    guard let output = paths.first else {
      print("usage: describe-members OUTPUT SOURCE...")
      exit(EXIT_FAILURE)
    }
    var reader = SourceReader()
    for path in paths.dropFirst() {
      let source = try Data(contentsOf: URL(filePath: path))
      reader.read(String(decoding: source, as: UTF8.self), from: path)
    }
    let descriptions = Descriptions(of: reader.types)
    for problem in descriptions.problems { print(problem) }
    guard descriptions.problems.isEmpty else { exit(EXIT_FAILURE) }
    try write(Data(descriptions.source.utf8), to: URL(filePath: output))
  }

  /// Leaves a file with the same content untouched, so that the compiler does not compile it again.
  private static func write(_ content: Data, to file: URL) throws {
    guard (try? Data(contentsOf: file)) != content else { return }
    try content.write(to: file)
  }
}
