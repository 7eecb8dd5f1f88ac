/// A type or a protocol, as its declaration and its extensions state it.
struct SourceType {
  var isProtocol = false
  /// The names of the protocols that it conforms to.
  var conformances: Set<Substring> = []
  /// The stored properties, in the order of the source.
  var members: [Member] = []
  /// Whether the source itself declares `memberDescriptions`.
  var describesItself = false
  /// Declarations whose members cannot be read. They are a problem only if the type is described.
  var problems: [SourceProblem] = []

  struct Member {
    var name: String
    /// The lines of the documentation comment, without the slashes.
    var comment: [Substring]
    var place: Place
  }
}

struct Place {
  var path: String
  var line: Int
}

/// A message about a place in the source, in the form of the compiler's errors.
struct SourceProblem: CustomStringConvertible {
  var place: Place
  var message: String

  var description: String { "\(place.path):\(place.line): error: \(message)" }
}
