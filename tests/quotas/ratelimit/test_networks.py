"""Whose request it is: the peer's, or what the outermost of our own proxies wrote down."""

import time
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from django.test import RequestFactory
from hypothesis import given
from hypothesis import strategies as st

from quotas.ratelimit.client_ip import find_network, find_request_network, parse_client_address

PROXY = "10.0.0.2"
ADDRESSES = st.ip_addresses(v=4) | st.ip_addresses(v=6)


class TestAddress:
    def test_without_proxies_it_is_the_peers_whatever_the_header_says(self):
        assert parse_client_address("192.0.2.1", "203.0.113.9", 0) == "192.0.2.1"

    @pytest.mark.parametrize(
        ("proxies", "found"), [(1, "198.51.100.3"), (2, "198.51.100.2"), (3, "198.51.100.1")]
    )
    def test_each_proxy_of_our_own_wrote_one_entry(self, proxies, found):
        assert (
            parse_client_address(PROXY, "198.51.100.1, 198.51.100.2, 198.51.100.3", proxies)
            == found
        )

    @given(st.text(max_size=60), ADDRESSES)
    def test_what_stands_further_left_changes_nothing(self, forged, client):
        header = f"{forged}, {client}"
        assert parse_client_address(PROXY, header, 1) == parse_client_address(PROXY, str(client), 1)

    @pytest.mark.parametrize(
        "entry",
        [
            "192.0.2.1",
            " 192.0.2.1\t",
            "192.0.2.1:4711",
            '"192.0.2.1:4711"',
            "::ffff:192.0.2.1",
            "[::ffff:192.0.2.1]:443",
            "::FFFF:c000:0201%eth0",
            "64:ff9b::192.0.2.1",
        ],
    )
    def test_one_address_is_known_in_every_spelling(self, entry):
        assert parse_client_address(PROXY, entry, 1) == "192.0.2.1"

    @pytest.mark.parametrize(
        "entry", ["2001:DB8:0::1", "[2001:db8::1]", '"[2001:db8::1]:4711"', "2001:db8::1%eth0"]
    )
    def test_an_ipv6_address_too(self, entry):
        assert parse_client_address(PROXY, entry, 1) == "2001:db8::1"

    @pytest.mark.parametrize(
        "entry",
        [
            "",
            " ",
            "unknown",
            "_hidden",
            "localhost",
            "192.0.2.1 192.0.2.2",
            "192.0.2.1:x",
            "192.0.2.1:",
            "192.0.2.1\0",
            "192.0.2.1\n",
            "192.0.2.²",
            "١٩٢.0.2.1",
            "[192.0.2.1",
            "[[::1]]",
            "2001:db8::1]",
            "for=192.0.2.1",
            "192.0.2.256",
            "3221225985",
        ],
    )
    def test_what_is_no_address_is_not_known(self, entry):
        assert parse_client_address(PROXY, f"198.51.100.1,{entry}", 1) is None

    @pytest.mark.parametrize("header", ["", ",", "192.0.2.1", "unknown, 192.0.2.1", ", 192.0.2.1"])
    def test_an_entry_that_is_missing_is_never_made_up_for(self, header):
        assert parse_client_address(PROXY, header, 2) is None

    def test_a_peer_without_an_address_is_not_known(self):
        assert parse_client_address("", "192.0.2.1", 0) is None

    @given(st.text() | st.builds(str, ADDRESSES), st.text(), st.integers(0, 10))
    def test_nothing_that_is_sent_raises(self, peer, forwarded, proxies):
        found = parse_client_address(peer, forwarded, proxies)
        assert found is None or parse_client_address(found, "", 0) == found

    @pytest.mark.parametrize("flood", [",", "1", "[", '"', "1.1.1.1,", " ", ":"])
    def test_a_header_of_a_megabyte_is_looked_at_briefly(self, flood):
        start = time.thread_time()
        parse_client_address(PROXY, flood * (2**20 // len(flood)), 10)
        assert time.thread_time() - start < 0.1


class TestNetwork:
    @given(st.ip_addresses(v=4))
    def test_an_ipv4_address_is_its_own(self, address: IPv4Address):
        assert find_network(str(address)) == find_network(f"::ffff:{address}") == str(address)

    @given(st.ip_addresses(v=6, network="2000::/3"))
    def test_an_ipv6_address_is_of_its_64(self, address: IPv6Address):
        network = ip_network(find_network(str(address)))
        assert address in network
        assert network.prefixlen == 64

    def test_addresses_of_one_64_are_of_one_network(self):
        assert find_network("2001:db8:1:2::1") == find_network("2001:db8:1:2:ff::2%eth0")
        assert find_network("2001:db8:1:2::1") != find_network("2001:db8:1:3::1")


class TestRequest:
    def test_the_header_counts_only_behind_a_proxy(self, settings):
        request = RequestFactory(headers={"X-Forwarded-For": "198.51.100.1"}).get("/")
        assert find_request_network(request) == "127.0.0.1"
        settings.TRUSTED_PROXIES = 1
        assert find_request_network(request) == "198.51.100.1"

    def test_a_proxy_that_says_nothing_is_not_taken_for_everybody(self, settings):
        settings.TRUSTED_PROXIES = 1
        assert find_request_network(RequestFactory().get("/")) is None
