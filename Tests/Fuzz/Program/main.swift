import CFuzzer
import Glibc
import UsherFuzz

// usher-fuzz TARGET [OPTION OF LIBFUZZER ...] [FILE OR FOLDER ...]
// usher-fuzz --list prints each target and the folders of Sources whose string literals are its
// dictionary.

/// The target whose property is checked.
nonisolated(unsafe) private var target: FuzzTarget?

/// Checks the target's property for one input. A violation ends the process, so that libFuzzer
/// stores the input.
@_cdecl("LLVMFuzzerTestOneInput")
public func checkInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  do {
    try target?.check(Array(UnsafeBufferPointer(start: bytes, count: count)))
    return 0
  } catch {
    fatalError("target \(target?.name ?? ""): \(error)")
  }
}

/// The variable by which a process that libFuzzer starts, for example to merge corpora, knows the
/// target: libFuzzer passes only options on.
private let variable = "USHER_FUZZ_TARGET"

private func run(_ arguments: [String]) -> CInt {
  if arguments.dropFirst().first == "--list" {
    for target in FuzzTarget.all { print(([target.name] + target.words).joined(separator: "\t")) }
    return 0
  }
  var rest = arguments.dropFirst()
  let inherited = getenv(variable).map { String(cString: $0) }
  let name = inherited ?? rest.popFirst() ?? ""
  target = FuzzTarget.all.first { $0.name == name }
  guard let target else {
    print("usher-fuzz: there is no target \"\(name)\"; usher-fuzz --list prints them")
    return 2
  }
  setenv(variable, name, 1)
  let options = [arguments[0], "-max_len=\(target.maxBytes)"] + rest
  var count = CInt(options.count)
  // libFuzzer keeps the pointers until the process ends.
  let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(
    capacity: options.count + 1)
  for (index, option) in options.enumerated() { list[index] = strdup(option) }
  list[options.count] = nil
  var start: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = list
  return LLVMFuzzerRunDriver(&count, &start, checkInput)
}

exit(run(CommandLine.arguments))
