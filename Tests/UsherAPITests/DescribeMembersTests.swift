import FoundationEssentials
import Testing
import UsherTestKit

@Suite("The descriptions that describe-members writes", .mayBlock, .timeLimit(.minutes(10)))
struct DescribeMembersTests {
  private let place: TemporaryDirectory

  init() throws { place = try TemporaryDirectory() }

  /// Returns the file that the tool writes for these sources, or what it prints if it fails.
  private func describe(_ sources: String...) throws -> String {
    let paths = try sources.enumerated().map { try place.write($1, to: "\($0).swift") }
    let output = place.file("MemberDescriptions.swift")
    let end = try run(BuiltProduct.path("describe-members"), [output] + paths)
    #expect(end.errors.isEmpty)
    guard end.status == 0 else { return end.output.replacing("\(place.path)/", with: "") }
    return try String(contentsOfFile: output, encoding: .utf8)
  }

  @Test(
    "a description is the documentation comment of a stored property, in one line without links")
  func written() throws {
    let result = try describe(
      #"""
      /// Returns a token.
      public struct TokenGet: Method {
        /// The name.
        public static let name = "token.get"

        /// The account; absent if ``provider`` identifies it. See
        /// ``Reply/next``.
        ///
        /// A second "paragraph".
        public var account: AccountID?
        // A comment for developers.
        /// The provider.
        @Nullable
        public var provider: ProviderName?

        public init(account: AccountID?) {
          let account = account
          self.account = account
        }

        public struct Reply: Codable,
          SchemaDocumented
        {
          /// The phrase.
          private(set) var `for` = "{"
          /// Not stored.
          public var isEmpty: Bool { `for` == "" }
          public var isLong: Bool {
            `for`.count > 10
          }
          public struct Private { var secret: Int }
        }
      }
      """#)
    #expect(
      result == #"""
        // Written by describe-members from the documentation comments of the members.

        extension TokenGet {
          public static var memberDescriptions: [String: String] {
            [
              "account": "The account; absent if `provider` identifies it. See `next`. A second \"paragraph\".",
              "provider": "The provider.",
            ]
          }
        }

        extension TokenGet.Reply {
          public static var memberDescriptions: [String: String] {
            [
              "for": "The phrase.",
            ]
          }
        }

        """#)
  }

  @Test("a type is described if its module declares that it conforms to SchemaDocumented")
  func conformances() throws {
    let result = try describe(
      """
      package protocol Params: Codable & Sendable, SchemaDocumented {
        var name: String { get }
      }
      struct Indirect<Own: Codable>: Codable, Params where Own: Sendable {
        /// The name.
        let name: String
      }
      struct Extended {
        /// The name.
        let name: String
      }
      struct Undocumented: Codable {
        let name: String
        enum CodingKeys: String, CodingKey { case name }
      }
      """,
      """
      extension Extended: SchemaDocumented {}
      extension Empty: SchemaDocumented {
        static let component = 1
      }
      """)
    let names = result.split(separator: "extension ").dropFirst().map { $0.prefix { $0 != " " } }
    #expect(names == ["Empty", "Extended", "Indirect"])
    #expect(
      result.contains(
        "extension Empty {\n  public static var memberDescriptions: [String: String] {\n    [:]"))
  }

  @Test("a type with memberDescriptions of its own is left out, and so is text in string literals")
  func leftOut() throws {
    let result = try describe(
      #"""
      struct Own: SchemaDocumented {
        let name: String
        static var memberDescriptions: [String: String] { ["name": "The name."] }
      }
      let text = """
        struct Literal: SchemaDocumented {
          let name: String
        }
        """
      """#)
    #expect(result.hasPrefix("// Written by ") && !result.contains("extension"))
  }

  @Test(
    "a member whose comment cannot describe it in JSON is an error with its place",
    arguments: [
      ("let name: String", "3: error: the documentation comment of name is missing"),
      (
        "/// Nil or null.\n  let name: String",
        "4: error: the documentation comment of name says nil"
      ),
      (
        "/// A ``Reply``.\n  let name: String",
        "4: error: the documentation comment of name links to Reply"
      ),
      (
        "/// A ``name.\n  let name: String",
        "4: error: the documentation comment of name links to name."
      ),
      (
        "/// One of:\n  /// - a\n  let name: String",
        "5: error: the documentation comment of name has a line"
      ),
      (
        "/// See <doc:API>.\n  let name: String",
        "4: error: the documentation comment of name has a link to a page"
      ),
      (
        "@Clamped(0, 5) let name: String", "3: error: describe-members cannot read this declaration"
      ),
      ("#if DEBUG", "3: error: describe-members cannot read this declaration"),
      (
        "var name = 1 {\n    didSet {}\n  }",
        "3: error: the documentation comment of name is missing"
      ),
      ("enum CodingKeys: String, CodingKey { case a }", "3: error: the members of a described"),
      ("struct Part: SchemaDocumented { let a: Int }", "3: error: each member must have a line"),
    ])
  func problems(member: String, problem: String) throws {
    let printed = try describe("\nstruct Odd: SchemaDocumented {\n  \(member)\n}\n")
    #expect(printed.hasPrefix("0.swift:\(problem)"))
    #expect(printed.split(separator: "\n").count == 1)
  }
}
