/// A test user who can sign in at the sandbox's pages.
package struct User: Sendable, Hashable, Codable {
  package var username: String
  package var password: String
  /// The subject identifier. Default: `usr_` followed by the user name.
  package var sub: String
  package var name: String
  package var email: String
  /// The phone number in international form; nil if the user has no phone.
  package var phone: String?
  /// The PIN, for providers that ask for one; nil if the user has none.
  package var pin: String?

  package init(
    username: String, password: String, sub: String? = nil, name: String? = nil,
    email: String? = nil, phone: String? = nil, pin: String? = nil
  ) {
    self.username = username
    self.password = password
    self.sub = sub ?? "usr_\(username)"
    self.name = name ?? username
    self.email = email ?? "\(username)@example.com"
    self.phone = phone
    self.pin = pin
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      username: try container.decode(String.self, forKey: .username),
      password: try container.decode(String.self, forKey: .password),
      sub: try container.decodeIfPresent(String.self, forKey: .sub),
      name: try container.decodeIfPresent(String.self, forKey: .name),
      email: try container.decodeIfPresent(String.self, forKey: .email),
      phone: try container.decodeIfPresent(String.self, forKey: .phone),
      pin: try container.decodeIfPresent(String.self, forKey: .pin))
  }
}

/// All test users. Their passwords and PINs are not secret: the index page shows them.
package struct Users: Sendable {
  package let all: [User]

  package init(_ all: [User] = Users.standard) {
    self.all = all
  }

  /// The default users. Their phone numbers are from a range that Ofcom reserves for drama.
  package static let standard = [
    User(
      username: "alice", password: "alice-password", name: "Alice Adams",
      phone: "+447700900123", pin: "2468"),
    User(
      username: "bob", password: "bob-password", name: "Bob Brown", phone: "+447700900456",
      pin: "1357"),
  ]

  package func named(_ username: String) -> User? {
    all.first { $0.username == username }
  }

  package func withSubject(_ sub: String) -> User? {
    all.first { $0.sub == sub }
  }

  /// Returns the user, or nil if the name is unknown, the PIN is wrong or the user has no PIN.
  package func signingIn(_ username: String?, pin: String?) -> User? {
    guard let username, let user = named(username), let pin, user.pin == pin else { return nil }
    return user
  }

  /// Returns the user, or nil if the name is unknown or the password is wrong.
  package func signingIn(_ username: String?, password: String?) -> User? {
    guard let username, let user = named(username), user.password == password else { return nil }
    return user
  }
}
