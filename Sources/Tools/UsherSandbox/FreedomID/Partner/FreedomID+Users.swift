import FoundationEssentials

/// The partner API: creating and changing people.
extension FreedomIDBackend {
  func createUser(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      _ = try bearer(call)
      var body = try FreedomBody(call)
      let phone = body.required("phone", .phone)
      let change = body.profileChange()
      checkUnique(phone, change, nil, &body)
      try body.finish()
      var profile = FreedomProfile()
      change.apply(to: &profile)
      profile.phones = [phone]
      let person = ledger.add(profile, now: context.clock.now())
      return changed(person.id)
    }
  }

  func updateUser(_ call: EndpointCall) async -> Reply {
    await respondingWithFreedomErrors(inside200: settings.errorsInside200) {
      _ = try bearer(call)
      var body = try FreedomBody(call)
      let id = body.required("freedom_id", .uuid).lowercased()
      let phone = body.text("phone", .phone)
      let change = body.profileChange()
      if !id.isEmpty, ledger.person(id) == nil { body.addError("freedom_id", "is not known") }
      checkUnique(phone, change, id, &body)
      try body.finish()
      ledger.change(id) { person in
        change.apply(to: &person.profile)
        if let phone { person.profile.phones.setPrimary(phone) }
      }
      return changed(id)
    }
  }

  private func changed(_ id: String) -> Reply {
    let members: [String: JSON] = ["freedom_id": .string(id)]
    return .json(.object(members.applying(overrides: settings.changeReply)))
  }

  /// Records an error if another person has the phone number or the e-mail address.
  private func checkUnique(
    _ phone: String?, _ change: FreedomProfileChange, _ id: String?, _ body: inout FreedomBody
  ) {
    func isTaken(_ name: LoginIdentifier) -> Bool {
      ledger.person(knownAs: name).map { $0.id != id } ?? false
    }
    if let phone, isTaken(.phone(phone)) { body.addError("phone", "is used by another account") }
    if let email = change.email, isTaken(.email(email.lowercased())) {
      body.addError("email", "is used by another account")
    }
  }
}

/// A partner's change of a profile. Nil members stay unchanged.
struct FreedomProfileChange: Sendable, Hashable {
  var email: String?
  fileprivate var firstname: String?
  fileprivate var lastname: String?
  fileprivate var dateOfBirth: String?
  fileprivate var identifier: String?
  fileprivate var country: String?
  fileprivate var gender: String?
  fileprivate var nationality: String?

  func apply(to profile: inout FreedomProfile) {
    if let email { profile.emails.setPrimary(email) }
    profile.firstname = firstname ?? profile.firstname
    profile.lastname = lastname ?? profile.lastname
    profile.dateOfBirth = dateOfBirth ?? profile.dateOfBirth
    profile.identifier = identifier ?? profile.identifier
    profile.country = country ?? profile.country
    profile.gender = gender ?? profile.gender
    profile.nationality = nationality ?? profile.nationality
  }
}

extension FreedomBody {
  fileprivate mutating func profileChange() -> FreedomProfileChange {
    FreedomProfileChange(
      email: text("email", .email), firstname: text("firstname", .text),
      lastname: text("lastname", .text), dateOfBirth: text("date_of_birth", .date),
      identifier: text("identifier", .text), country: text("country", .country),
      gender: text("gender", .gender), nationality: text("nationality", .text))
  }
}

extension [String] {
  /// Replaces the first element, and removes other copies of the new one.
  fileprivate mutating func setPrimary(_ text: String) {
    self = [text] + dropFirst().filter { $0 != text }
  }
}
